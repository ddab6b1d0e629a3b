"""What ragledger needs of a PostgreSQL server, checked once before it is used."""

from typing import Any, cast

import psycopg
from psycopg import Connection

from app.db.sql import statement
from app.db.translate import translated
from app.errors import DatabaseUnavailable, UnsupportedServer

REVISION = "0006"  # the newest migration; a test holds it against migrations/versions
OLDEST_SERVER = 15
OLDEST_PGVECTOR = (0, 8)


def require_ready(url: str) -> None:
    """Refuse a server that cannot serve, with the reason. Raises UnsupportedServer, DatabaseUnavailable."""
    if not is_current(url):
        raise DatabaseUnavailable("the tables are missing or of another version: run `ragledger migrate`")


def is_current(url: str) -> bool:
    """Whether the tables are this version's. Raises UnsupportedServer, DatabaseUnavailable."""
    with translated(), psycopg.connect(url, connect_timeout=10) as connection:
        require_supported(connection)
        return migrated(connection)


def cluster(url: str) -> int:
    """The number that a primary shares with its standbys, and with no other server. Raises DatabaseUnavailable."""
    with translated(), psycopg.connect(url, connect_timeout=10) as connection:
        return cluster_of(connection)


def cluster_of(connection: Connection[Any]) -> int:
    """The same, of a connection."""
    return int(cast(tuple[int], connection.execute(statement("server", "cluster")).fetchone())[0])


def migrated(connection: Connection[Any]) -> bool:
    """Whether the tables that a connection sees are this version's."""
    row = connection.execute(statement("server", "has_tables")).fetchone()
    if row is None or not row[0]:
        return False
    return connection.execute(statement("server", "revisions")).fetchall() == [(REVISION,)]


def require_supported(connection: Connection[Any]) -> None:
    """Refuse servers that are too old, before anything half works.

    Raises UnsupportedServer naming what is there and what is needed. pgvector need not be installed yet (the first
    migration does that), only available.
    """
    require_server(connection.info.server_version)
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        raise UnsupportedServer(f"the database's encoding is {encoding}: ragledger needs UTF8")
    row = connection.execute(statement("server", "pgvector_version")).fetchone()
    require_pgvector(row[0] if row else None)


def require_server(version: int) -> None:
    """Refuse an old server, given libpq's number (150004 is 15.4). Raises UnsupportedServer."""
    if (major := version // 10_000) < OLDEST_SERVER:
        raise UnsupportedServer(f"PostgreSQL {major} is too old: ragledger needs {OLDEST_SERVER} to 18")


def require_pgvector(version: str | None) -> None:
    """Refuse a missing or old pgvector. Raises UnsupportedServer."""
    needed = ".".join(map(str, OLDEST_PGVECTOR))
    if version is None:
        raise UnsupportedServer(f"this PostgreSQL has no pgvector: install pgvector {needed} or newer on the server")
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise UnsupportedServer(
            f"pgvector {version} is too old: ragledger needs {needed} or newer (ALTER EXTENSION vector UPDATE)"
        )
