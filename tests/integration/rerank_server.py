"""A server that speaks `POST /rerank` as Text Embeddings Inference and as Jina, vLLM, Infinity and Cohere do.

A text's score is the share of the question's words that it holds. `fault` makes it misbehave.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Fault = Literal[
    "", "slow", "dripping", "stalls", "cut", "429", "503", "500", "redirect", "closes", "truncated", "no json", "html",
    "shuffled", "missing", "twice", "out of range", "negative", "nan", "infinite", "text", "too many", "too few",
    "huge", "overflowing",
]  # fmt: skip
NOT_ANSWERED: tuple[Fault, ...] = ("slow", "dripping", "stalls", "cut", "429", "503", "500", "redirect", "closes")
UNUSABLE: tuple[Fault, ...] = (
    "truncated", "no json", "html", "missing", "twice", "out of range", "negative", "nan", "infinite", "text",
    "too many", "too few", "huge", "overflowing",
)  # fmt: skip
SLOW_SECONDS = 1.0


@dataclass
class RerankServer:
    """What it was asked, and how it is to answer. `meanwhile` runs within each request."""

    url: str
    fault: Fault = ""
    requests: list[tuple[dict[str, str], dict[str, Any]]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None


def relevance(question: str, text: str) -> float:
    words = set(question.lower().split())
    return len(words & set(text.lower().split())) / len(words)


@contextmanager
def rerank_server() -> Iterator[RerankServer]:
    """A server on a free port of this machine."""
    http = _Server(("127.0.0.1", 0), _Handler)
    state = RerankServer(f"http://127.0.0.1:{http.server_port}/rerank")
    http.state = state  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that gives up is what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        state: RerankServer = self.server.state  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state.requests.append((dict(self.headers), body))
        state.meanwhile()
        if state.fault == "slow":
            time.sleep(SLOW_SECONDS)
        if state.fault == "closes":
            self.close_connection = True
            return
        status = int(state.fault) if state.fault.isdigit() else 307 if state.fault == "redirect" else 200
        content = _damaged(_reply(body, state.fault), state.fault)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Location", "/rerank")
        self.end_headers()
        with suppress(OSError):  # the client may have given up
            self._write(content, state.fault)

    def _write(self, content: bytes, fault: Fault) -> None:
        if fault == "dripping":
            for n in range(len(content)):
                self.wfile.write(content[n : n + 1])
                time.sleep(0.02)
            return
        whole = fault not in {"stalls", "cut"}
        self.wfile.write(content if whole else content[:10])
        if fault == "stalls":
            time.sleep(SLOW_SECONDS)
        self.close_connection = not whole

    def log_message(self, *_: Any) -> None:
        pass


def _reply(body: dict[str, Any], fault: Fault) -> Any:
    tei = "texts" in body
    texts, key = (body["texts"], "score") if tei else (body["documents"], "relevance_score")
    found = [{"index": n, key: relevance(body["query"], text)} for n, text in enumerate(texts)]
    found.sort(key=lambda one: -one[key])
    _misjudge(found, key, fault)
    # what servers add of their own
    return found if tei else {"id": "x", "model": body["model"], "results": found, "usage": {"total_tokens": 9}}


def _misjudge(found: list[dict[str, Any]], key: str, fault: Fault) -> None:
    changes: dict[Fault, tuple[str, Any]] = {
        "out of range": ("index", len(found)), "negative": ("index", -1), "twice": ("index", found[1]["index"]),
        "nan": (key, float("nan")), "infinite": (key, float("inf")), "text": (key, "0.5"),
        "overflowing": (key, 1e308),
    }  # fmt: skip
    if fault in changes:
        name, value = changes[fault]
        found[0][name] = value
    elif fault == "shuffled":
        found.reverse()
    elif fault == "missing":
        del found[0]["index"]
    elif fault == "too few":
        del found[0]
    elif fault == "too many":
        found.append(found[0])


def _damaged(reply: Any, fault: Fault) -> bytes:
    content = json.dumps(reply).encode()
    damaged: dict[Fault, bytes] = {
        "truncated": content[:-3],
        "no json": b"",
        "html": b"<html>proxy error</html>",
        "huge": content + b" " * 3_000_000,
    }
    return damaged.get(fault, content)
