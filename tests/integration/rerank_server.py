"""A server that speaks `POST /rerank` as Text Embeddings Inference and as Jina, vLLM, Infinity and Cohere do.

A text's score is the share of the question's words that it holds. `fault` makes it misbehave.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from faulty_server import FaultyHandler, damaged, running

Fault = Literal[
    "", "slow", "dripping", "dripping headers", "stalls", "cut", "429", "503", "500", "redirect", "closes",
    "truncated", "no json", "html", "shuffled", "missing", "twice", "out of range", "negative", "nan", "infinite",
    "text", "too many", "too few", "huge", "overflowing",
]  # fmt: skip
NOT_ANSWERED: tuple[Fault, ...] = (
    "slow", "dripping", "dripping headers", "stalls", "cut", "429", "503", "500", "redirect", "closes",
)  # fmt: skip
UNUSABLE: tuple[Fault, ...] = (
    "truncated", "no json", "html", "missing", "twice", "out of range", "negative", "nan", "infinite", "text",
    "too many", "too few", "huge", "overflowing",
)  # fmt: skip


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
    with running(_Handler) as http:
        http.state = RerankServer(f"http://127.0.0.1:{http.server_port}/rerank")  # type: ignore[attr-defined]
        yield http.state  # type: ignore[attr-defined]


class _Handler(FaultyHandler):
    def heard(self, body: dict[str, Any]) -> Fault:
        state: RerankServer = self.state
        state.requests.append((dict(self.headers), body))
        state.meanwhile()
        return state.fault

    def respond(self, body: dict[str, Any], fault: Any) -> None:
        status = int(fault) if fault.isdigit() else 307 if fault == "redirect" else 200
        self.answer(status, damaged(_reply(body, fault), fault), fault, {"Location": "/rerank"})


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
