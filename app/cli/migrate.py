"""`ragledger migrate`: bring the database to this version's tables."""

import click

from app import services
from app.cli.settings import load
from app.db import migrate as migrations


@click.command()
@click.option("--revision", default="head", show_default=True, help="Alembic revision to migrate up to.")
def migrate(revision: str) -> None:
    """Create or upgrade the tables. Safe to run at any time, and twice."""
    migrations.upgrade(services.ensure(load()).database_url, revision)
    click.echo(f"the tables are at revision {revision}")
