"""Connections: one pool per process, errors of the driver translated once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from pgvector.psycopg import register_vector
from psycopg import Connection, IsolationLevel, errors
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from app.errors import Conflict, DatabaseUnavailable, InvalidInput, NotFound, RagledgerError

Db = Connection[TupleRow]

# a database that is away must not hold every request thread for as long as a slow statement may take
_CONNECTION_WAIT_SECONDS = 3
_PAUSE_SECONDS = 2.0  # after a vain wait, requests are refused at once for this long


class Database:
    """A lazily opened pool: `read()` gives a consistent snapshot, `write()` a transaction."""

    def __init__(self, url: str, *, max_connections: int, timeout_seconds: float) -> None:
        self._timeout_ms = int(timeout_seconds * 1000)
        self._closed_until = 0.0
        self._pool: ConnectionPool[Db] = ConnectionPool(
            url,
            min_size=1,
            max_size=max_connections,
            timeout=min(timeout_seconds, _CONNECTION_WAIT_SECONDS),
            open=False,
            configure=self._configure,
            check=ConnectionPool.check_connection,
            reconnect_timeout=_CONNECTION_WAIT_SECONDS,
            kwargs={
                "application_name": "ragledger",
                "connect_timeout": _CONNECTION_WAIT_SECONDS,
                "client_encoding": "utf8",
            },
        )

    def _configure(self, connection: Db) -> None:
        register_vector(connection)
        # whatever the server's or the role's defaults are
        connection.execute("SELECT set_config('statement_timeout', %s, false)", (str(self._timeout_ms),))
        connection.execute("SELECT set_config('datestyle', 'ISO', false)")
        connection.commit()
        connection.isolation_level = IsolationLevel.READ_COMMITTED

    @contextmanager
    def _connection(self) -> Iterator[Db]:
        if time.monotonic() < self._closed_until:
            raise DatabaseUnavailable("the database did not answer a moment ago")
        self._pool.open()
        with translated():
            try:
                connection = self._pool.getconn()
            except PoolTimeout:
                self._closed_until = time.monotonic() + _PAUSE_SECONDS
                raise
            try:
                with connection:
                    yield connection
            finally:
                self._pool.putconn(connection)

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
                    connection.isolation_level, connection.read_only = IsolationLevel.READ_COMMITTED, None

    @contextmanager
    def write(self) -> Iterator[Db]:
        """One READ COMMITTED transaction; commits when the block ends, rolls back when it raises."""
        with self._connection() as connection, connection.transaction():
            yield connection

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        self._pool.close()


_TABLES = "the tables are not those of this version, run `ragledger migrate`"
# the first that fits; anything else is a fault of ours and stays what it is
_TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], Callable[[str], RagledgerError]], ...] = (
    (
        (errors.UniqueViolation, errors.SerializationFailure, errors.DeadlockDetected),
        lambda _: Conflict("another writer changed the same thing first; try again"),
    ),
    ((errors.ForeignKeyViolation,), lambda _: NotFound("what this belongs to was deleted meanwhile")),
    (
        (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn),
        lambda said: DatabaseUnavailable(f"{_TABLES}: {said}"),
    ),
    ((errors.ProgramLimitExceeded,), lambda _: InvalidInput("text", "is too long for what it is to be stored as")),
    (
        (errors.UntranslatableCharacter, errors.CharacterNotInRepertoire),
        lambda _: InvalidInput("text", "contains a character that PostgreSQL cannot store"),
    ),
    ((errors.ReadOnlySqlTransaction,), lambda _: DatabaseUnavailable("the database takes no writes: is it a replica?")),
    (
        (errors.QueryCanceled,),
        lambda _: DatabaseUnavailable("a statement took longer than DATABASE_TIMEOUT_SECONDS"),
    ),
    (
        (PoolTimeout,),
        lambda _: DatabaseUnavailable("no database connection became free, or the server does not answer"),
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        lambda said: DatabaseUnavailable(f"the database does not answer: {said}"),
    ),
)


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into the domain's, once, at the border."""
    try:
        yield
    except psycopg.Error as e:
        for kinds, made in _TRANSLATIONS:
            if isinstance(e, kinds):
                raise made(_first_line(e)) from e
        if isinstance(e, psycopg.ProgrammingError) and e.sqlstate is None:  # not the server's word, but libpq's
            # without its words: they quote the URL, password and all
            raise DatabaseUnavailable("DATABASE_URL is no address: write special characters as %XX") from None
        raise


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
