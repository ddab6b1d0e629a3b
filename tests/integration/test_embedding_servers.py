"""Embedders that are not ours: over real HTTP, as Ollama and as OpenAI, and with everything that can go wrong."""

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embed_server import AWAY, DIM, UNUSABLE, EmbedServer, Fault, embed_server, unit, vector
from faulty_server import SLOW_SECONDS

from app.clients import deadline
from app.clients.embedder import calls, known
from app.clients.embedder.remote import RemoteEmbedder
from app.clients.embedder.servers import Servers
from app.errors import EmbedderUnavailable, EmbeddingFailed, WrongModel
from app.records import ModelIdentity, Vectors
from app.settings import Settings

MODEL = "some/model"
IDENTITY = ModelIdentity("ollama", MODEL, DIM, "q: ", "p: ")
TEXTS = ("the copper kettle", "保修两年", "a kettle of tin boils quickly", "x")
TIMEOUT_SECONDS = SLOW_SECONDS / 2
HASTY: dict[str, Any] = {"embed_timeout_seconds": TIMEOUT_SECONDS, "embed_question_timeout_seconds": TIMEOUT_SECONDS}
PAUSE_SECONDS = 0.3

both = pytest.mark.parametrize("name", ["ollama", "openai"])


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_BACKOFF_SECONDS", 0.02)
    monkeypatch.setattr(calls, "_PAUSE_SECONDS", PAUSE_SECONDS)


@pytest.fixture
def server() -> Iterator[EmbedServer]:
    with embed_server(models={MODEL: 0, "nomic-embed-text": 1, "text-embedding-3-small": 2, "BAAI/bge-m3": 3}) as made:
        yield made


def embedder(server: EmbedServer, name: str, identity: ModelIdentity = IDENTITY, **changes: Any) -> RemoteEmbedder:
    return Servers(configured(server, **changes)).embedder(name, identity)


def configured(server: EmbedServer, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "embed_backend": "ollama",
        "embed_model": MODEL,
        "ollama_base_url": server.url,
        "openai_base_url": server.openai_url,
        "embed_question_timeout_seconds": 60,
        "embed_retries": 2,
    }
    return Settings(**(given | changes))


def expected(*texts: str, prefix: str = "p: ", model: int = 0, dim: int = DIM) -> Any:
    return pytest.approx(unit([vector(prefix + text, model=model, dim=dim) for text in texts]), abs=1e-6)


# --- what is asked and answered -----------------------------------------------------------------------------------


@both
def test_vectors_are_those_of_the_texts_in_their_order(server: EmbedServer, name: str) -> None:
    asked = embedder(server, name)
    vectors = asked.embed_passages(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors == expected(*TEXTS)
    assert asked.embed_questions(TEXTS[:1]) == expected(TEXTS[0], prefix="q: ")
    assert asked.embed_passages([]).shape == (0, DIM)
    assert asked.identity == IDENTITY
    assert len(server.requests) == 2


def test_each_server_is_asked_as_it_expects_it(server: EmbedServer) -> None:
    for name in ("ollama", "openai"):
        embedder(server, name).embed_passages(["a"])
    (ollama_path, _, ollama), (openai_path, _, openai) = server.requests
    assert (ollama_path, openai_path) == ("/api/embed", "/v1/embeddings")
    assert ollama == {"model": MODEL, "input": ["p: a"], "truncate": False}
    assert openai == {"model": MODEL, "input": ["p: a"], "encoding_format": "float"}


def test_a_shuffled_answer_is_put_in_order(server: EmbedServer) -> None:
    server.fault = "shuffled"
    assert embedder(server, "openai").embed_passages(TEXTS) == expected(*TEXTS)


@both
def test_many_texts_go_in_requests_of_like_lengths(server: EmbedServer, name: str) -> None:
    lengths = np.random.default_rng(5).integers(1, 200, 60)
    texts = [f"w{n} " * length for n, length in enumerate(lengths)]
    vectors = embedder(server, name, embed_batch_texts=7, embed_batch_chars=2_000).embed_passages(texts)
    assert vectors == expected(*texts)
    for batch in server.inputs:
        assert len(batch) <= 7
        assert len(batch) == 1 or sum(len(text) - len("p: ") for text in batch) <= 2_000
    sent = [len(text) for batch in server.inputs for text in batch]
    assert sent == sorted(sent, reverse=True)


@both
def test_many_threads_get_each_its_own_vectors(server: EmbedServer, name: str) -> None:
    asked = embedder(server, name)
    texts = [[f"thread {n} text {m}" for m in range(5)] for n in range(24)]
    with ThreadPoolExecutor(8) as threads:
        for sent, vectors in zip(texts, threads.map(asked.embed_passages, texts), strict=True):
            assert vectors == expected(*sent)


# --- no answer ----------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("fault", [*AWAY, "429", "500"])
def test_passages_are_sent_again_until_they_are_answered(server: EmbedServer, name: str, fault: Fault) -> None:
    server.faults = deque([fault, fault])
    asked = embedder(server, name, **HASTY)
    assert asked.embed_passages(TEXTS) == expected(*TEXTS)
    assert len(server.requests) == 3
    assert asked.embed_questions(["a"]) == expected("a", prefix="q: ")


@both
@pytest.mark.parametrize("fault", [*AWAY, "429", "500"])
def test_a_question_waits_no_longer_than_its_time(server: EmbedServer, name: str, fault: Fault) -> None:
    server.fault = fault
    started = time.monotonic()
    with pytest.raises(EmbedderUnavailable) as failure:
        embedder(server, name, embed_question_timeout_seconds=TIMEOUT_SECONDS).embed_questions(["a"])
    assert time.monotonic() - started < 2 * TIMEOUT_SECONDS
    assert 1 <= len(server.requests) <= 2
    assert "127.0.0.1" not in str(failure.value)
    assert "secret-host" not in str(failure.value)


def test_nobody_listening_is_unavailable(server: EmbedServer) -> None:
    for name in ("ollama", "openai"):
        gone = embedder(
            server, name, ollama_base_url="http://127.0.0.1:9", openai_base_url="http://127.0.0.1:9/v1", embed_retries=1
        )
        for ask in (gone.embed_questions, gone.embed_passages):
            with pytest.raises(EmbedderUnavailable, match=f"{name} does not answer: ConnectionError"):
                ask(["a"])
    assert not server.requests


@both
def test_a_server_that_does_not_answer_is_left_alone_and_then_asked_by_one(server: EmbedServer, name: str) -> None:
    asked = embedder(server, name, **HASTY)
    server.fault = "slow"

    def ask(_: int) -> str:
        try:
            asked.embed_questions(["a"])
        except EmbedderUnavailable as e:
            return str(e)
        return ""

    assert "does not answer" in ask(0)
    with ThreadPoolExecutor(6) as threads:
        started = time.monotonic()
        assert set(threads.map(ask, range(6))) == {f"{name} did not answer a moment ago"}
        assert time.monotonic() - started < TIMEOUT_SECONDS
        time.sleep(PAUSE_SECONDS)
        before = len(server.requests)
        assert sorted(map(len, threads.map(ask, range(6))))[-1] != 0
        assert len(server.requests) == before + 1
        time.sleep(PAUSE_SECONDS)
        server.fault = ""
        assert ask(0) == ""
        assert set(threads.map(ask, range(6))) == {""}


def test_that_a_question_had_too_little_time_keeps_no_passage_waiting(server: EmbedServer) -> None:
    asked = embedder(server, "ollama", embed_question_timeout_seconds=TIMEOUT_SECONDS)
    server.faults = deque(["slow"])
    with pytest.raises(EmbedderUnavailable):
        asked.embed_questions(["a"])
    assert asked.embed_passages(["a"]) == expected("a")


def test_a_health_check_with_little_time_keeps_no_question_waiting(server: EmbedServer) -> None:
    asked = embedder(server, "ollama")
    server.faults = deque(["slow"])
    with pytest.raises(EmbedderUnavailable), deadline.within(0.1):
        asked.embed_questions(["a"])
    assert asked.embed_questions(["a"]) == expected("a", prefix="q: ")


@pytest.mark.parametrize("date", [False, True])
def test_a_busy_server_is_asked_again_when_it_said(server: EmbedServer, date: bool) -> None:
    server.faults, server.retry_after = deque(["429"]), formatdate(time.time() + 2, usegmt=True) if date else "1"
    started = time.monotonic()
    assert embedder(server, "openai").embed_passages(["a"]) == expected("a")
    assert 0.9 <= time.monotonic() - started <= 4


@pytest.mark.parametrize("retry_after", ["3600", formatdate(time.time() + 86_400, usegmt=True), "9" * 300])
def test_a_server_that_asks_for_an_hour_is_not_waited_for(server: EmbedServer, retry_after: str) -> None:
    server.fault, server.retry_after = "429", retry_after
    with pytest.raises(EmbedderUnavailable, match="status 429: too many requests"):
        embedder(server, "openai").embed_passages(["a"])
    assert len(server.requests) == 1


def test_a_question_does_not_wait_beyond_its_time_for_a_busy_server(server: EmbedServer) -> None:
    server.fault, server.retry_after = "503", "2"
    started = time.monotonic()
    with pytest.raises(EmbedderUnavailable, match="status 503"):
        embedder(server, "openai", **HASTY).embed_questions(["a"])
    assert time.monotonic() - started < TIMEOUT_SECONDS
    assert len(server.requests) == 1


@pytest.mark.parametrize("retry_after", ["soon", "-1", "9" * 5_000, ""])
def test_a_wait_that_cannot_be_read_is_one_of_ours(server: EmbedServer, retry_after: str) -> None:
    server.faults, server.retry_after = deque(["429"]), retry_after
    assert embedder(server, "openai").embed_passages(["a"]) == expected("a")


@both
@pytest.mark.parametrize(("fault", "hint"), [("401", "key"), ("404", "does not have the model"), ("redirect", "307")])
def test_what_no_repetition_helps_is_asked_once(server: EmbedServer, name: str, fault: Fault, hint: str) -> None:
    server.fault = fault
    with pytest.raises(EmbedderUnavailable, match=hint):
        embedder(server, name).embed_passages(["a"])
    assert len(server.requests) == 1


# --- answers that cannot be used ----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_answer_that_cannot_be_used_is_refused(server: EmbedServer, name: str, fault: Fault) -> None:
    server.fault = fault
    with pytest.raises(EmbeddingFailed) as failure:
        embedder(server, name).embed_passages(TEXTS)
    assert len(server.requests) == 1
    assert "0.5" not in str(failure.value)
    assert "secret-host" not in str(failure.value)


@pytest.mark.parametrize("fault", ["twice", "no index"])
def test_vectors_that_belong_to_no_text_are_refused(server: EmbedServer, fault: Fault) -> None:
    server.fault = fault
    with pytest.raises(EmbeddingFailed):
        embedder(server, "openai").embed_passages(TEXTS)


@both
def test_too_few_dimensions_are_refused(server: EmbedServer, name: str) -> None:
    server.fault = "narrow"
    with pytest.raises(WrongModel, match=f"has {DIM - 1} dimensions at its server, {DIM} are needed"):
        embedder(server, name).embed_passages(TEXTS)


def test_text_that_is_no_unicode_is_refused_before_it_is_sent(server: EmbedServer) -> None:
    with pytest.raises(EmbeddingFailed, match="text 1 is not valid Unicode"):
        embedder(server, "ollama").embed_passages(["a", "b\ud800"])
    assert not server.requests


# --- shorter vectors ----------------------------------------------------------------------------------------------


def cut(vectors: Any, dim: int) -> Any:
    return pytest.approx(unit(list(vectors[:, :dim])), abs=1e-6)


@both
def test_a_model_made_for_it_is_cut_to_its_first_dimensions(server: EmbedServer, name: str) -> None:
    server.dim, server.models["nomic-ai/nomic-embed-text-v1.5"] = 768, 1
    identity = ModelIdentity(name, "nomic-ai/nomic-embed-text-v1.5", 100, "", "")
    whole = np.array([vector(text, model=1, dim=768) for text in TEXTS])
    assert embedder(server, name, identity).embed_passages(TEXTS) == cut(whole, 100)
    assert "dimensions" not in server.requests[0][2]


def test_a_server_that_shortens_is_asked_to_where_it_is_to(server: EmbedServer) -> None:
    server.dim = 1_536
    identity = ModelIdentity("openai", "text-embedding-3-small", 256, "", "")
    whole = np.array([vector(text, model=2, dim=1_536) for text in TEXTS])
    assert embedder(server, "openai", identity).embed_passages(TEXTS) == cut(whole, 256)
    full = ModelIdentity("openai", "text-embedding-3-small", 1_536, "", "")
    embedder(server, "openai", full).embed_passages(TEXTS)
    assert [body.get("dimensions") for _, _, body in server.requests] == [256, None]


def test_an_unknown_model_is_cut_where_the_settings_say_so(server: EmbedServer) -> None:
    identity = ModelIdentity("ollama", MODEL, 10, "p: ", "p: ")
    whole = np.array([vector(f"p: {text}") for text in TEXTS])
    assert embedder(server, "ollama", identity).embed_passages(TEXTS) == cut(whole, 10)


def test_a_known_model_that_was_not_made_for_it_is_not_cut(server: EmbedServer) -> None:
    server.dim = 1_025
    with pytest.raises(WrongModel, match="1025 dimensions at its server, 1024 are needed: shortening"):
        embedder(server, "openai", ModelIdentity("openai", "BAAI/bge-m3", 1_024, "", "")).embed_passages(["a"])


# --- too long -----------------------------------------------------------------------------------------------------

SAYINGS = [
    (400, '{"error":"the input length exceeds the context length"}'),  # Ollama
    (500, '{"error":"the input length exceeds the context length"}'),
    (400, '{"error":"input length exceeds maximum context length"}'),
    (413, '{"error":"Input validation error: `inputs` must have less than 512 tokens. Given: 785"}'),  # TEI
    (413, "<html>413 Request Entity Too Large</html>"),  # a proxy
    (422, '{"error":"batch size 64 > maximum allowed batch size 32","error_type":"Validation"}'),
    (422, '{"detail":[{"msg":"List should have at most 2048 items after validation"}]}'),  # Infinity
    (400, '{"error":{"message":"This model\'s maximum context length is 8192 tokens, however you requested 9"}}'),
    (500, '{"error":{"message":"input is too large to process. increase the physical batch size"}}'),  # llama.cpp
]


@pytest.mark.parametrize("saying", SAYINGS, ids=lambda saying: saying[1][:40])
def test_a_batch_that_is_refused_as_too_long_is_divided(server: EmbedServer, saying: tuple[int, str]) -> None:
    server.max_texts, server.too_long = 3, saying
    texts = [f"text {n} of many" for n in range(20)]
    assert embedder(server, "openai").embed_passages(texts) == expected(*texts)


@both
def test_a_text_that_is_too_long_is_the_mean_of_pieces_that_leave_nothing_out(server: EmbedServer, name: str) -> None:
    server.max_chars = 120
    long = " ".join(f"Sentence {n} tells of kettle number {n * n}." for n in range(40))
    vectors = embedder(server, name).embed_passages(["short", long, "other"])
    assert vectors[[0, 2]] == expected("short", "other")
    accepted = [text.removeprefix("p: ") for batch in server.inputs for text in batch if len(text) <= 120]
    pieces = [text for text in accepted if text not in {"short", "other"}]
    assert "".join(pieces) == long
    means = unit([vector(f"p: {piece}") for piece in pieces]) * [[len(piece)] for piece in pieces]
    assert vectors[1] == pytest.approx(unit([means.sum(axis=0)])[0], abs=0.1)  # halves of halves are not all alike
    assert vectors[1] @ unit([vector(long)])[0] > 0.9


@both
def test_a_known_model_is_sent_no_more_than_it_reads(server: EmbedServer, name: str) -> None:
    """Many servers cut what is too long, and say nothing."""
    server.dim, server.models["BAAI/bge-small-zh-v1.5"] = 512, 4
    identity = ModelIdentity(name, "BAAI/bge-small-zh-v1.5", 512, "为这个句子：", "")
    text = "自购买之日起保修两年，人为损坏不在保修范围之内。" * 60
    vectors = embedder(server, name, identity).embed_passages([text])
    sent = [piece for batch in server.inputs for piece in batch]
    assert sorted(sent) == sorted(piece for piece in sent if piece.endswith("。"))
    assert max(map(len, sent)) <= 512
    assert "".join(sorted(sent, key=text.find)).count("保修两年") == 60
    pieces = unit([vector(piece, model=4, dim=512) for piece in sent]) * [[len(piece)] for piece in sent]
    assert vectors[0] == pytest.approx(unit([pieces.sum(axis=0)])[0], abs=1e-6)


def test_a_server_that_refuses_any_length_is_believed_after_a_few_requests(server: EmbedServer) -> None:
    server.max_chars = 0
    with pytest.raises(EmbeddingFailed, match=r"refuses even \d+ characters as too long"):
        embedder(server, "ollama").embed_passages([*TEXTS, "long " * 200] * 8)
    assert len(server.requests) < 20


# --- keys and ways ------------------------------------------------------------------------------------------------


def test_the_key_goes_to_openai_alone_and_no_other_is_sent(
    server: EmbedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login other password secret", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for key in ("abc", None):
        for name in ("ollama", "openai"):
            embedder(server, name, openai_api_key=key).embed_passages(["a"])
    sent = [headers.get("Authorization") for _, headers, _ in server.requests]
    assert sent == [None, "Bearer abc", None, None]


def test_a_redirect_takes_the_key_to_no_other_host(server: EmbedServer) -> None:
    server.fault = "redirect"
    with pytest.raises(EmbedderUnavailable, match="status 307"):
        embedder(server, "openai", openai_api_key="abc").embed_passages(["a"])
    assert len(server.requests) == 1


def test_no_proxy_reads_the_key_on_its_way_to_a_plain_address(
    server: EmbedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with embed_server(models={MODEL: 9}) as proxy:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, proxy.url)
        assert embedder(server, "openai", openai_api_key="abc").embed_passages(["a"]) == expected("a")
        assert not proxy.requests


def test_a_known_model_is_asked_for_by_the_name_it_has_there(server: EmbedServer) -> None:
    server.dim = 768
    identity = ModelIdentity("ollama", "nomic-ai/nomic-embed-text-v1.5", 768, "", "")
    vectors: Vectors = embedder(server, "ollama", identity).embed_passages(["a"])
    assert server.requests[0][2]["model"] == known.name_at("ollama", identity.model) == "nomic-embed-text"
    assert vectors == expected("a", prefix="", model=1, dim=768)
