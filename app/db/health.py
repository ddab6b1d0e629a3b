"""Whether the database can serve."""

from functools import cache

from alembic.config import Config
from alembic.script import ScriptDirectory

from app.db.pool import Db
from app.db.sql import statement
from app.settings import ROOT


def migrated(connection: Db) -> bool:
    """Whether the tables are those of this version."""
    return {row[0] for row in connection.execute(statement("health", "revisions"))} == _heads()


@cache
def _heads() -> set[str]:
    return set(ScriptDirectory.from_config(Config(str(ROOT / "alembic.ini"))).get_heads())
