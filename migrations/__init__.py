"""Alembic migrations of the tables in `app.tables`."""
