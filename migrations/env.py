"""Run the migrations against the database that `app.db.migrate` hands over as `connection`."""

import re

from alembic import context
from sqlalchemy import Connection
from sqlmodel import SQLModel

import app.tables  # noqa: F401  (fills SQLModel.metadata)

# partitions come and go with embedding spaces; they are no part of the models
PARTITION = re.compile(r"_s\d+$")


def include_name(name: str | None, type_: str, _parents: object) -> bool:
    return not (type_ == "table" and name is not None and PARTITION.search(name))


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=SQLModel.metadata, include_name=include_name, compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()


run(context.config.attributes["connection"])
