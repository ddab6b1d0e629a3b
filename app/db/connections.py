"""The connections to one server: lent in a transaction, and refused for a while where the server keeps silent."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
from pgvector.psycopg import register_vector
from psycopg import Connection
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from app.db.sql import statement
from app.db.translate import translated
from app.errors import DatabaseUnavailable

Db = Connection[TupleRow]

_LOG = logging.getLogger(__name__)
CONNECT_SECONDS = 3
PAUSE_SECONDS = 2.0  # after a vain wait, requests are refused at once for this long
_GRACE_SECONDS = 3.0  # beyond the time that the server itself allows a statement
_POLL_SECONDS = 0.1


class Patient(Connection[TupleRow]):
    """A connection that ends its waiting: a stopped server's kernel acknowledges each byte, so TCP never would."""

    patience_seconds: float | None = CONNECT_SECONDS
    gave_up = False

    def wait(self, gen: PQGen[RV], interval: float = _POLL_SECONDS, timeout: float | None = None) -> RV:
        """Wait for an answer, at most for `patience_seconds`; then the connection is closed."""
        try:
            return super().wait(gen, interval, self.patience_seconds if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:  # it is still to answer
                self.gave_up = True
                self.close()
            raise


class Connections:
    """A lazily opened pool. `answer_seconds` is how long a connection, and the first answer on it, may take."""

    def __init__(
        self,
        address: str,
        name: str,
        *,
        max_connections: int,
        timeout_seconds: float,
        answer_seconds: float,
        accept: Callable[[Db], None] = lambda _: None,
    ) -> None:
        self._name, self._accept = name, accept
        self._timeout_seconds, self._answer_seconds = timeout_seconds, answer_seconds
        self._lock = threading.Lock()
        self._refused_until = 0.0
        self._pool: ConnectionPool[Patient] = ConnectionPool(
            address,
            connection_class=Patient,
            min_size=1,
            max_size=max_connections,
            timeout=answer_seconds,
            open=False,
            configure=self._configure,
            reconnect_timeout=CONNECT_SECONDS,
            kwargs={
                "application_name": "ragledger",
                "autocommit": True,  # transactions begin and end by statements of ours
                "connect_timeout": CONNECT_SECONDS,
                "client_encoding": "utf8",
            },
        )

    def _configure(self, connection: Patient) -> None:
        register_vector(connection)
        # whatever the server's or the role's defaults are
        milliseconds = str(int(self._timeout_seconds * 1000))
        connection.execute("SELECT set_config('statement_timeout', %s, false)", (milliseconds,))
        connection.execute("SELECT set_config('datestyle', 'ISO', false)")
        self._accept(connection)

    @contextmanager
    def transaction(self, begin: Callable[[Db], None], *, unhurried: bool = False) -> Iterator[Db]:
        """A connection on which `begin` began a transaction; commits at the end, rolls back where the block raises."""
        with translated():
            connection = self._begun(begin)
            try:
                connection.patience_seconds = None if unhurried else self._timeout_seconds + _GRACE_SECONDS
                yield connection
                connection.commit()
            except BaseException:
                with suppress(psycopg.Error):  # the server rolls back what it hears no more of
                    connection.rollback()
                raise
            finally:
                self._pool.putconn(connection)

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        self._pool.close()

    def _begun(self, begin: Callable[[Db], None]) -> Patient:
        """A connection that works: those that a restart of the server left behind are replaced."""
        self._admit()
        self._pool.open()
        for _ in range(self._pool.max_size):
            connection = self._taken()
            try:
                connection.patience_seconds = self._answer_seconds
                begin(connection)
            except BaseException as e:
                self._pool.putconn(connection)
                if connection.gave_up:
                    self._pause(e)
                    raise
                if not connection.closed:  # an answer, if not the one hoped for
                    self._resume()
                    raise
            else:
                self._resume()
                return connection
        raise DatabaseUnavailable("the server closes every connection")

    def _taken(self) -> Patient:
        try:
            return self._pool.getconn()
        except PoolTimeout as e:
            self._pause(e)
            raise

    def _admit(self) -> None:
        """Refuse while the server is known to be away; after the pause one request tries, and the others go on."""
        with self._lock:
            now = time.monotonic()
            if now < self._refused_until:
                raise DatabaseUnavailable("the database did not answer a moment ago")
            if self._refused_until:
                self._refused_until = now + self._answer_seconds + PAUSE_SECONDS

    def _pause(self, reason: BaseException) -> None:
        with self._lock:
            known, self._refused_until = self._refused_until > 0, time.monotonic() + PAUSE_SECONDS
        if not known:
            _LOG.warning("database.away server=%s reason=%s", self._name, reason)

    def _resume(self) -> None:
        with self._lock:
            known, self._refused_until = self._refused_until > 0, 0.0
        if known:
            _LOG.warning("database.back server=%s", self._name)


def begin_snapshot(connection: Db) -> None:
    """Begin a REPEATABLE READ READ ONLY transaction: every statement in it sees the same revision."""
    connection.execute(statement("server", "begin_snapshot"))


def begin_write(connection: Db) -> None:
    """Begin a READ COMMITTED transaction."""
    connection.execute(statement("server", "begin_write"))
