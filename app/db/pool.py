"""Connections: one pool per process, errors of the driver translated once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from pgvector.psycopg import register_vector
from psycopg import Connection, IsolationLevel
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from app.errors import Conflict, DatabaseUnavailable, InvalidInput

Db = Connection[TupleRow]

# a database that is away must not hold every request thread for as long as a slow statement may take
_CONNECTION_WAIT_SECONDS = 5


class Database:
    """A lazily opened pool: `read()` gives a consistent snapshot, `write()` a transaction."""

    def __init__(self, url: str, *, max_connections: int, timeout_seconds: float) -> None:
        self._timeout_ms = int(timeout_seconds * 1000)
        self._pool: ConnectionPool[Db] = ConnectionPool(
            url,
            min_size=1,
            max_size=max_connections,
            timeout=min(timeout_seconds, _CONNECTION_WAIT_SECONDS),
            open=False,
            configure=self._configure,
            check=ConnectionPool.check_connection,
            reconnect_timeout=_CONNECTION_WAIT_SECONDS,
            kwargs={"application_name": "ragledger", "connect_timeout": _CONNECTION_WAIT_SECONDS},
        )

    def _configure(self, connection: Db) -> None:
        register_vector(connection)
        connection.execute("SELECT set_config('statement_timeout', %s, false)", (str(self._timeout_ms),))
        connection.commit()

    @contextmanager
    def _connection(self) -> Iterator[Db]:
        self._pool.open()
        with translated(), self._pool.connection() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Db]:
        """One REPEATABLE READ READ ONLY transaction: every statement in it sees the same revision."""
        with self._connection() as connection:
            connection.isolation_level, connection.read_only = IsolationLevel.REPEATABLE_READ, True
            try:
                with connection.transaction():
                    yield connection
            finally:
                if not connection.closed:
                    connection.isolation_level, connection.read_only = None, None

    @contextmanager
    def write(self) -> Iterator[Db]:
        """One READ COMMITTED transaction; commits when the block ends, rolls back when it raises."""
        with self._connection() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        self._pool.close()


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into the domain's, once, at the border."""
    try:
        yield
    except (psycopg.errors.UniqueViolation, psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as e:
        raise Conflict("another writer changed the same thing first; try again") from e
    except psycopg.errors.ForeignKeyViolation as e:
        raise Conflict("what this belongs to was deleted meanwhile") from e
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn) as e:
        raise DatabaseUnavailable(
            f"the tables are not those of this version, run `ragledger migrate`: {_first_line(e)}"
        ) from e
    except psycopg.errors.ProgramLimitExceeded as e:
        raise InvalidInput("text", "is too long for what it is to be stored as") from e
    except (psycopg.errors.UntranslatableCharacter, psycopg.errors.CharacterNotInRepertoire) as e:
        raise InvalidInput("text", "contains a character that PostgreSQL cannot store") from e
    except psycopg.errors.QueryCanceled as e:
        raise DatabaseUnavailable("a statement took longer than DATABASE_TIMEOUT_SECONDS") from e
    except PoolTimeout as e:
        raise DatabaseUnavailable("no database connection became free, or the server does not answer") from e
    except (psycopg.OperationalError, psycopg.InterfaceError) as e:
        raise DatabaseUnavailable(f"the database does not answer: {_first_line(e)}") from e


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
