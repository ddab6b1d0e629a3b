"""The service over real HTTP, on a free port of this machine."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import requests
from werkzeug.serving import make_server

from app.api import create_app
from app.clients.embedder import Embedder
from app.resources import Resources
from tests.embedders import Only

TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Api:
    """A client of one running service."""

    url: str

    def __call__(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        return requests.request(method, self.url + path, timeout=TIMEOUT_SECONDS, **kwargs)

    def add(self, source: str, text: str, **fields: Any) -> dict[str, Any]:
        """Add a document that must go in."""
        return self._ok(self("POST", "/documents", json={"source": source, "text": text, **fields}))

    def search(self, question: str, **fields: Any) -> dict[str, Any]:
        """Search, successfully."""
        return self._ok(self("POST", "/search", json={"question": question, **fields}))

    def ask(self, question: str, **fields: Any) -> dict[str, Any]:
        """Ask, successfully."""
        return self._ok(self("POST", "/ask", json={"question": question, **fields}))

    @staticmethod
    def _ok(response: requests.Response) -> dict[str, Any]:
        assert response.ok, response.text
        body: dict[str, Any] = response.json()
        return body


def changed(resources: Resources, *, embedder: Embedder | None = None, **changes: Any) -> Resources:
    """The same resources with some changed; the embedder is shared."""
    made = replace(resources, **changes)
    made.__dict__["backends"] = Only(embedder) if embedder else resources.backends
    return made


@contextmanager
def serving(resources: Resources) -> Iterator[Api]:
    """Serve these resources for a while."""
    server = make_server("127.0.0.1", 0, create_app(resources), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Api(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
