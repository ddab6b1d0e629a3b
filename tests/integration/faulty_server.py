"""What servers that tests make misbehave have in common: how they run, and how their answers come late or not whole."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOW_SECONDS = 1.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that gives up is what is tested."""


class FaultyHandler(BaseHTTPRequestHandler):
    """`state` is what the test holds in its hands."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.heard(body)
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        if fault == "closes":
            self.close_connection = True
        else:
            self.respond(body, fault)

    def heard(self, body: dict[str, Any]) -> str:
        """Note a request, and say what is to go wrong with it."""
        raise NotImplementedError

    def respond(self, body: dict[str, Any], fault: str) -> None:
        """Answer it."""
        raise NotImplementedError

    @property
    def state(self) -> Any:
        return self.server.state  # type: ignore[attr-defined]

    def answer(self, status: int, content: bytes, fault: str, headers: dict[str, str]) -> None:
        """Send a reply; dripping comes byte by byte, stalls and cut end after a few of them."""
        self.send_response(status)
        if fault == "dripping headers":
            self._drip(b"X-Padding: " + b"x" * 200)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # the client may have given up
            self._write(content, fault)

    def _write(self, content: bytes, fault: str) -> None:
        if fault == "dripping":
            self._drip(content)
            return
        whole = fault not in {"stalls", "cut"}
        self.wfile.write(content if whole else content[:10])
        if fault == "stalls":
            time.sleep(SLOW_SECONDS)
        self.close_connection = not whole

    def _drip(self, content: bytes) -> None:
        self.flush_headers()
        with suppress(OSError):
            for n in range(len(content)):
                self.wfile.write(content[n : n + 1])
                time.sleep(0.02)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running(handler: type[FaultyHandler]) -> Iterator[ThreadingHTTPServer]:
    """A server on a free port of this machine; its `state` is to be set."""
    http = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield http
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def damaged(reply: Any, fault: str) -> bytes:
    """A reply as JSON, or what is left of it."""
    content = json.dumps(reply).encode()
    contents = {
        "truncated": content[:-3],
        "no json": b"",
        "html": b"<html>proxy error</html>",
        "huge": content + b" " * 5_000_000,
    }
    return contents.get(fault, content)
