"""Run the migrations on the connection that `app.db.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

from app.db.migrate import include_name

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    include_name=include_name,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
