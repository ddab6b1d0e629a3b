"""Replicas: standby servers that answer a read where they have replayed enough of the primary's log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, cast

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.db import positions, server
from app.db.connections import CONNECT_SECONDS, Connections, Db, begin_snapshot
from app.db.sql import statement
from app.db.translate import translated
from app.errors import Conflict, DatabaseUnavailable, NotFound, UnsupportedServer

_LOG = logging.getLogger(__name__)
# the primary is there: a replica that takes longer than this to begin a read is not waited for
_ANSWER_SECONDS = 0.5

State = Literal["ok", "behind", "unavailable"]


class Elsewhere(Exception):
    """A replica does not serve a read; the primary has to."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.state = state


class Replica:
    """One standby of the cluster. Clients are told its name, only the log its address."""

    def __init__(self, name: str, address: str, cluster: int, *, max_connections: int, timeout_seconds: float) -> None:
        self.name = name
        self._state: State = "ok"
        self._connections = Connections(
            address,
            name,
            max_connections=max_connections,
            timeout_seconds=timeout_seconds,
            answer_seconds=_ANSWER_SECONDS,
            accept=partial(_require_cluster, cluster=cluster),
        )

    @contextmanager
    def snapshot(self, position: int) -> Iterator[Db]:
        """A read-only transaction that sees all up to a position.

        Raises Elsewhere, also in place of what the block raises where the primary may know better: it is never
        behind and has no conflicts with recovery. A statement that was too slow would be so there too.
        """
        try:
            with self._connections.transaction(partial(_begin, position=position)) as connection:
                self._is("ok")
                yield connection
        except _NotNow as e:
            raise self._is(e.state, str(e)) from e
        except (NotFound, Conflict) as e:  # it lags, or replay needed what the read held
            raise Elsewhere("ok") from e
        except DatabaseUnavailable as e:
            if isinstance(e.__cause__, errors.QueryCanceled):
                raise
            raise self._is("unavailable", str(e)) from e

    def state(self, position: int) -> State:
        """Whether this replica would serve a read that needs a position."""
        try:
            with self.snapshot(position):
                return "ok"
        except Elsewhere as e:
            return e.state

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def _is(self, state: State, reason: str = "-") -> Elsewhere:
        if state != self._state:
            _LOG.warning("replica.%s replica=%s reason=%s", state, self.name, reason)
        self._state = state
        return Elsewhere(state)


class _NotNow(Exception):
    """A replica answers, but not with what is needed."""

    def __init__(self, state: State, reason: str) -> None:
        super().__init__(reason)
        self.state = state


def _begin(connection: Db, *, position: int) -> None:
    """Begin a snapshot that sees all up to a position.

    The position is asked in a transaction of its own, which has ended before the snapshot is taken (by the first
    statement of the other one). Replay only advances while a server runs, so the snapshot sees at least as much; and a
    commit counts as replayed only after its rows are visible. Within the REPEATABLE READ transaction the same statement
    would take the snapshot first and tell the position after it, which may be one that the snapshot does not see.
    """
    values = {"position": positions.tell(position)}
    standby, replayed = cast(tuple[bool, bool], connection.execute(statement("server", "replayed"), values).fetchone())
    if not standby:
        raise _NotNow("unavailable", "it is no standby: was it promoted?")
    if not replayed:
        raise _NotNow("behind", "it has not replayed what the read needs")
    begin_snapshot(connection)


def addresses(url: str) -> list[str]:
    """One address for each host that a libpq URL names, so that each has its own pool and its own pauses.

    Raises DatabaseUnavailable, without a word of the URL.
    """
    with translated("DATABASE_READ_URL"):
        parts: dict[str, Any] = conninfo_to_dict(url)
    lists = {key: str(parts[key]).split(",") for key in ("host", "hostaddr", "port") if parts.get(key)}
    count = max(map(len, lists.values()), default=1)
    if any(len(values) not in {1, count} for values in lists.values()):
        raise DatabaseUnavailable("DATABASE_READ_URL must name one port, or one for each host")
    hosts = [{key: values[n % len(values)] for key, values in lists.items()} for n in range(count)]
    return [make_conninfo(**parts | host) for host in hosts]


def opened(url: str, cluster: int, *, max_connections: int, timeout_seconds: float) -> list[Replica]:
    """The replicas of a URL. One that is away may come back; one of another cluster can only be a mistake.

    Raises UnsupportedServer, DatabaseUnavailable.
    """
    found = []
    for number, address in enumerate(addresses(url), 1):
        name = f"replica_{number}"
        try:
            with translated(), psycopg.connect(address, connect_timeout=CONNECT_SECONDS) as connection:
                _require_cluster(connection, cluster=cluster)
        except DatabaseUnavailable as e:
            _LOG.warning("replica.unavailable replica=%s reason=%s", name, e)
        found.append(Replica(name, address, cluster, max_connections=max_connections, timeout_seconds=timeout_seconds))
    return found


def _require_cluster(connection: Connection[Any], *, cluster: int) -> None:
    if (there := server.cluster_of(connection)) != cluster:
        raise UnsupportedServer(f"DATABASE_READ_URL names a server of cluster {there}, DATABASE_URL of {cluster}")
