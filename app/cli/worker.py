"""gunicorn's threaded worker, with an end to a client's silence."""

import socket
from typing import Any

from gunicorn.workers import gthread

SILENCE_SECONDS = 10.0  # of a client in the middle of its request


class PatientSocket(socket.socket):
    """A socket whose blocking reads and writes end: a half-sent request must not keep a thread for ever."""

    def setblocking(self, flag: bool) -> None:
        self.settimeout(SILENCE_SECONDS if flag else 0.0)

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """What came, or nothing after the silence, as if the client had gone."""
        try:
            return super().recv(bufsize, flags)
        except TimeoutError:
            return b""


class Worker(gthread.ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Connections without a byte wait in the poller, not in a thread; eight of them would be the whole service."""

    def handle(self, conn: Any) -> Any:
        if not isinstance(conn.sock, PatientSocket):
            conn.sock = PatientSocket(fileno=conn.sock.detach())
        if not conn.initialized and not conn.data_ready and not conn.wait_for_data(0):
            return gthread._DEFER
        return super().handle(conn)
