"""Whether the database can serve."""

from app.db.pool import Db
from app.db.server import REVISION
from app.db.sql import statement


def migrated(connection: Db) -> bool:
    """Whether the tables are those of this version."""
    row = connection.execute(statement("health", "has_tables")).fetchone()
    if row is None or not row[0]:
        return False
    return connection.execute(statement("health", "revisions")).fetchall() == [(REVISION,)]
