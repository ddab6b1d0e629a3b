"""Bring a database to the newest revision of the tables."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import psycopg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlmodel import SQLModel

import app.tables  # noqa: F401  (fills SQLModel.metadata)
from app.db import server
from app.errors import DatabaseUnavailable
from app.settings import ROOT

# partitions come and go with embedding spaces; they are no part of the models
_PARTITION = re.compile(r"_s\d+$")
# one number for all processes, so that two migrations at once wait for each other
_LOCK = 0x7261_676C


def upgrade(url: str, revision: str = "head") -> None:
    """Migrate up; creates every table in an empty database. Safe to call from several processes at once."""
    with _connection(url) as connection:
        command.upgrade(_config(connection), revision)
        connection.commit()


def downgrade(url: str, revision: str) -> None:
    """Migrate down to `revision`; "base" removes every table and its rows."""
    with _connection(url) as connection:
        command.downgrade(_config(connection), revision)
        connection.commit()


def differences(url: str) -> list[str]:
    """What differs between the models and the database, one line each; empty where they agree."""
    with _connection(url) as connection:
        options = {"include_name": include_name, "compare_server_default": True, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        return [str(difference) for difference in compare_metadata(context, SQLModel.metadata)]


def include_name(name: str | None, kind: str, _parents: object) -> bool:
    """Leave out what is no part of the models."""
    return not (kind == "table" and name is not None and _PARTITION.search(name))


def _config(connection: Connection) -> Config:
    config = Config(str(ROOT / "alembic.ini"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _connection(url: str) -> Iterator[Connection]:
    engine = create_engine(re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql+psycopg://", url), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            server.require_supported(cast(psycopg.Connection[Any], connection.connection.driver_connection))
            connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
            connection.commit()
            yield connection  # closing the session gives the lock back
    except DBAPIError as e:
        raise DatabaseUnavailable(f"migration: {str(e.orig).strip().splitlines()[0]}") from e
    finally:
        engine.dispose()
