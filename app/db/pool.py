"""The database as the service sees it: a primary that is written, and replicas that may be read."""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar, cast

from app.db import positions
from app.db.connections import CONNECT_SECONDS, Connections, Db, begin_snapshot, begin_write
from app.db.replicas import Elsewhere, Replica, State
from app.db.sql import statement
from app.db.translate import translated

__all__ = ["Database", "Db", "translated"]

Result = TypeVar("Result")


class Database:
    """`read()` gives a consistent snapshot of the primary, `read_anywhere()` one of a replica where it is fresh
    enough, `write()` a transaction."""

    def __init__(
        self, url: str, *, max_connections: int, timeout_seconds: float, replicas: Sequence[Replica] = ()
    ) -> None:
        self._primary = Connections(
            url,
            "primary",
            max_connections=max_connections,
            timeout_seconds=timeout_seconds,
            answer_seconds=min(timeout_seconds, CONNECT_SECONDS),
        )
        self._replicas = tuple(replicas)
        self._turn = itertools.count()
        self._written = 0
        self._lock = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[Db]:
        """One REPEATABLE READ READ ONLY transaction: every statement in it sees the same revision, the newest."""
        with self._primary.transaction(begin_snapshot) as connection:
            yield connection

    def read_anywhere(self, work: Callable[[Db], Result]) -> Result:
        """What `work` makes of such a transaction, on any server that has all that this process and the caller of this
        request wrote. It may be called twice: on a replica in vain, then on the primary."""
        position = self._position()
        first = next(self._turn)
        for n in range(len(self._replicas)):
            replica = self._replicas[(first + n) % len(self._replicas)]
            with suppress(Elsewhere), replica.snapshot(position) as connection:
                return work(connection)
        with self.read() as connection:
            return work(connection)

    @contextmanager
    def write(self, *, visible: bool = True, unhurried: bool = False) -> Iterator[Db]:
        """One READ COMMITTED transaction; commits when the block ends, rolls back when it raises.

        `visible`: reads that follow must see it, so no replica that lacks it serves them. `unhurried`: it may take
        longer than a search may.
        """
        with self._primary.transaction(begin_write, unhurried=unhurried) as connection:
            if unhurried:
                connection.execute(statement("server", "unhurried"))
            yield connection
            connection.commit()
            if visible:
                self._reach(connection)

    def replica_states(self) -> dict[str, State]:
        """Of each replica by name, whether it would serve this process now."""
        position = self._position()
        return {replica.name: replica.state(position) for replica in self._replicas}

    def close(self) -> None:
        """Close every connection. Safe to call twice."""
        self._primary.close()
        for replica in self._replicas:
            replica.close()

    def _position(self) -> int:
        return max(self._written, positions.asked.get())

    def _reach(self, connection: Db) -> None:
        """Remember where the log stands, just after a commit."""
        (text,) = cast(tuple[str], connection.execute(statement("server", "position")).fetchone())
        position = positions.parse(text)
        positions.written.set(position)
        with self._lock:
            self._written = max(self._written, position)
