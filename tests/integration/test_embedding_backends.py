"""Backends that stand in for each other within one space, and never two models in it: in memory, and in a search."""

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from embed_server import DIM, EmbedServer, embed_server, unit, vector
from faulty_server import SLOW_SECONDS

from app.api import readiness
from app.clients.embedder import calls
from app.clients.embedder.backends import Backends
from app.errors import EmbedderUnavailable, EmbeddingFailed, InvalidInput
from app.ingest import pipeline as ingest
from app.query import pipeline
from app.records import Question, SearchResult, Source
from app.resources import Resources
from app.settings import Settings

MODEL = "some/model"
TEXTS = ("the copper kettle", "a kettle of tin", "保修两年", "the copper kettle boils")


@dataclass
class Hosts:
    """Where the two backends are."""

    ollama: EmbedServer
    openai: EmbedServer

    def settings(self, **changes: Any) -> dict[str, Any]:
        return {
            "embed_backend": "ollama,openai",
            "embed_model": MODEL,
            "embed_query_prefix": "q: ",
            "embed_passage_prefix": "p: ",
            "ollama_base_url": self.ollama.url,
            "openai_base_url": self.openai.openai_url,
            "embed_question_timeout_seconds": 30,
            "embed_timeout_seconds": 30,
            "embed_retries": 0,
        } | changes


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hosts]:
    monkeypatch.setattr(calls, "_BACKOFF_SECONDS", 0.02)
    monkeypatch.setattr(calls, "_PAUSE_SECONDS", 0.0)
    with embed_server(models={MODEL: 0}) as ollama, embed_server(models={MODEL: 0}) as openai:
        yield Hosts(ollama, openai)


def expected(*texts: str, prefix: str = "p: ", model: int = 0) -> Any:
    return pytest.approx(unit([vector(prefix + text, model=model) for text in texts]), abs=1e-6)


# --- the dimension ------------------------------------------------------------------------------------------------


def test_the_dimension_of_an_unknown_model_is_asked_for(hosts: Hosts) -> None:
    settings = Settings(**hosts.settings())
    assert Backends(settings).configured.identity.dim == DIM
    hosts.ollama.fault = "404"
    assert Backends(settings).configured.identity.dim == DIM
    assert len(hosts.openai.requests) == 1
    assert Backends(Settings(**hosts.settings(embed_dim=7))).configured.identity.dim == 7
    assert len(hosts.openai.requests) == 1


def test_a_dimension_that_nobody_tells_is_an_error_that_says_what_to_do_and_is_asked_for_again(
    hosts: Hosts,
) -> None:
    hosts.ollama.fault, hosts.openai.fault = "503", "closes"
    backends = Backends(Settings(**hosts.settings()))
    with pytest.raises(EmbedderUnavailable, match=r"say it in EMBED_DIM, or start the backend \(ollama .*; openai "):
        _ = backends.configured
    hosts.openai.fault = ""
    assert backends.configured.identity.dim == DIM


@pytest.mark.parametrize(
    ("model", "dim", "reason"),
    [
        ("BAAI/bge-m3", 2_000, "has 1024 dimensions, not 2000"),
        ("bge-m3", 512, "was not made to be shortened"),
        ("text-embedding-3-small", 1_537, "has 1536 dimensions"),
    ],
)
def test_a_dimension_that_a_known_model_cannot_have_is_refused(model: str, dim: int, reason: str) -> None:
    backends = Backends(Settings(embed_backend="openai", embed_model=model, embed_dim=dim))
    with pytest.raises(InvalidInput, match=f"EMBED_DIM: .*{reason}"):
        _ = backends.configured


def test_a_dimension_beyond_an_unknown_models_is_refused(hosts: Hosts) -> None:
    asked = Backends(Settings(**hosts.settings(embed_dim=DIM + 1))).configured
    with pytest.raises(EmbedderUnavailable, match=f"{MODEL} has {DIM} dimensions at its server, {DIM + 1} are needed"):
        asked.embed_passages(["a"])


def test_a_known_model_brings_its_dimension_and_prefixes() -> None:
    identity = Backends(Settings(embed_backend="ollama", embed_model="nomic-embed-text", embed_dim=256)).configured
    assert (identity.identity.model, identity.identity.dim) == ("nomic-ai/nomic-embed-text-v1.5", 256)
    assert identity.identity.query_prefix == "search_query: "
    assert identity.identity.passage_prefix == "search_document: "


# --- fallback -----------------------------------------------------------------------------------------------------


def test_another_backend_of_the_same_model_answers_for_one_that_is_away(hosts: Hosts) -> None:
    asked = Backends(Settings(**hosts.settings())).configured
    assert asked.embed_passages(TEXTS) == expected(*TEXTS)
    assert not hosts.openai.requests[1:]
    hosts.ollama.fault = "503"
    assert asked.embed_passages(TEXTS) == expected(*TEXTS)
    assert asked.embed_questions(["a"]) == expected("a", prefix="q: ")
    hosts.ollama.fault = ""
    before = len(hosts.openai.requests)
    assert asked.embed_questions(["a"]) == expected("a", prefix="q: ")
    assert len(hosts.openai.requests) == before


def test_another_model_by_the_same_name_is_refused_with_its_cosine(hosts: Hosts) -> None:
    hosts.openai.models[MODEL] = 1
    asked = Backends(Settings(**hosts.settings())).configured
    asked.embed_passages(TEXTS)
    hosts.ollama.fault = "503"
    for ask in (asked.embed_passages, asked.embed_questions):
        with pytest.raises(
            EmbedderUnavailable, match=r"ollama .*503; openai computes other vectors .*cosine -?0\.\d+ .*at least 0\.99"
        ):
            ask(TEXTS)


def test_what_one_backend_fails_at_another_is_asked_for(hosts: Hosts) -> None:
    asked = Backends(Settings(**hosts.settings())).configured
    asked.embed_passages(TEXTS)
    hosts.ollama.fault = "unsupported"
    assert asked.embed_passages(TEXTS) == expected(*TEXTS)
    hosts.openai.fault = "zero"
    with pytest.raises(EmbeddingFailed, match=r"ollama refused .*; the embedder returned no usable vector for text 3"):
        asked.embed_passages(TEXTS)


def test_a_question_waits_for_all_backends_no_longer_than_its_time(hosts: Hosts) -> None:
    hosts.ollama.fault = hosts.openai.fault = "stalls"
    seconds = SLOW_SECONDS / 4
    asked = Backends(
        Settings(**hosts.settings(embed_dim=DIM, embed_timeout_seconds=60, embed_question_timeout_seconds=seconds))
    ).configured
    started = time.monotonic()
    with pytest.raises(EmbedderUnavailable):
        asked.embed_questions(["a"])
    assert time.monotonic() - started < 2.5 * seconds


# --- in a collection ----------------------------------------------------------------------------------------------


@pytest.fixture
def filled(resources: Resources, hosts: Hosts) -> Resources:
    """A collection that was embedded by Ollama."""
    made = replace(resources, settings=resources.settings.model_copy(update=hosts.settings()))
    for n, text in enumerate(TEXTS):
        ingest.ingest(Source(f"{n}.txt", str(n), "text/plain", text), "k", made)
    return made


def reopened(filled: Resources, **changes: Any) -> Resources:
    """As another process would open it, with other settings."""
    return replace(filled, settings=filled.settings.model_copy(update=changes))


def search(resources: Resources) -> SearchResult:
    return pipeline.search(Question("the copper kettle", "k", use_cache=False), resources)


def stored(resources: Resources, collection: str) -> list[tuple[str, Any]]:
    """Every chunk's text and vector; one that waits for its vector has one without shape."""
    with resources.database.read() as connection:
        return [
            (text, np.array(made, float))
            for text, made in connection.execute(
                "SELECT c.text, e.embedding::real[] FROM chunk c JOIN collection k ON k.id = c.collection_id"
                " LEFT JOIN embedding e ON e.chunk_id = c.id AND e.space_id = k.space_id WHERE k.name = %s",
                (collection,),
            ).fetchall()
        ]


def test_a_search_goes_on_by_the_other_backend(filled: Resources, hosts: Hosts) -> None:
    before = search(filled)
    assert before.degraded == ()
    hosts.ollama.fault = "503"
    for resources in (filled, reopened(filled)):
        after = search(resources)
        assert after.degraded == ()
        assert [hit.cosine for hit in after.hits] == pytest.approx([hit.cosine for hit in before.hits], abs=1e-5)
    question = unit([vector("q: the copper kettle")])[0]
    for hit in before.hits:
        assert hit.cosine == pytest.approx(question @ unit([vector(f"p: {hit.text}")])[0], abs=1e-3)


def test_no_vector_of_another_model_gets_into_a_collection(
    filled: Resources, hosts: Hosts, caplog: pytest.LogCaptureFixture
) -> None:
    hosts.ollama.fault = "503"
    hosts.openai.models[MODEL] = 1
    other = reopened(filled)
    with caplog.at_level(logging.ERROR):
        assert search(other).degraded == ("vector",)
    assert "openai computes other vectors than those of the space (cosine" in caplog.text
    with suppress(EmbedderUnavailable):
        ingest.ingest(Source("new.txt", "new", "text/plain", "a new kettle"), "k", other)
    hosts.ollama.fault = ""
    ingest.ingest(Source("later.txt", "later", "text/plain", "a later kettle"), "k", other)
    embedded = {text: made for text, made in stored(other, "k") if made.shape}
    assert set(TEXTS) | {"a later kettle"} <= set(embedded)
    for text, made in embedded.items():
        assert made == pytest.approx(unit([vector(f"p: {text}")])[0], abs=1e-6)


def test_each_collection_keeps_its_model_whatever_the_settings_say_by_now(filled: Resources, hosts: Hosts) -> None:
    hosts.openai.models["other/model"] = 1
    other = reopened(filled, embed_backend="openai", embed_model="other/model")
    for name in ("k", "l"):
        ingest.ingest(Source("new.txt", "new", "text/plain", "a new kettle"), name, other)
    assert dict(stored(other, "k"))["a new kettle"] == pytest.approx(unit([vector("p: a new kettle")])[0], abs=1e-6)
    of_other = unit([vector("p: a new kettle", model=1)])[0]
    assert dict(stored(other, "l"))["a new kettle"] == pytest.approx(of_other, abs=1e-6)
    assert search(other).degraded == ()


# --- health -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["stalls", "dripping", "503", "closes"])
def test_readiness_is_known_soon_where_the_embedder_is_away(filled: Resources, hosts: Hosts, fault: Any) -> None:
    hosts.ollama.fault = hosts.openai.fault = fault
    slow = reopened(filled, embed_question_timeout_seconds=60, embed_timeout_seconds=60, embed_retries=20)
    started = time.monotonic()
    assert readiness.check(slow).parts["embedder"] == "unavailable"
    assert time.monotonic() - started < 3
    hosts.ollama.fault = ""
    assert readiness.check(slow).parts["embedder"] == "ok"
