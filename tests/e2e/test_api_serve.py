"""`ragledger serve` as a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from api_client import Api

from app.services import Endpoints
from app.settings import Settings

STOP_SECONDS = 30


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from app.cli import main; main()", "serve", *arguments]
    return subprocess.Popen(command, env=os.environ | environment, stderr=subprocess.PIPE, text=True)  # noqa: S603


def listening(process: subprocess.Popen[str]) -> Api:
    assert process.stderr
    for line in process.stderr:
        if found := re.search(r"ragledger listens on (http://\S+)", line):
            return Api(found.group(1))
    raise AssertionError(f"it ended with {process.wait()}")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def served(database_url: str, servers: Endpoints, settings: Settings) -> Iterator[subprocess.Popen[str]]:
    environment = {"DATABASE_URL": database_url, "REDIS_URL": servers.redis_url}
    process = start("--port", "0", **environment, RAGLEDGER_HOME=str(settings.ragledger_home))
    yield process
    process.kill()
    process.communicate()


def test_it_answers_on_loopback_and_ends_at_sigterm_leaving_no_process(served: subprocess.Popen[str]) -> None:
    api = listening(served)
    assert api.url.startswith("http://127.0.0.1:")
    api.add("warranty.txt", "The SP15 roaster has a warranty of 24 months.")
    assert "24 months" in api.ask("How long is the warranty of the SP15?")["text"]
    assert api("GET", "/health/ready").json()["status"] == "ok"
    workers = children(served.pid)
    assert len(workers) == 1
    served.send_signal(signal.SIGTERM)
    assert served.wait(STOP_SECONDS) == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    with pytest.raises(requests.ConnectionError):
        api("GET", "/health/live")


def test_it_ends_at_sigterm_while_documents_wait_for_an_embedder(
    database_url: str, servers: Endpoints, settings: Settings
) -> None:
    environment = {"DATABASE_URL": database_url, "REDIS_URL": servers.redis_url}
    environment |= {"EMBED_BACKEND": "openai", "EMBED_MODEL": "BAAI/bge-m3", "EMBED_RETRIES": "0"}
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and never answers
        environment |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}/v1"}
        environment |= {"EMBED_TIMEOUT_SECONDS": "1", "EMBED_QUESTION_TIMEOUT_SECONDS": "1"}
        process = start("--port", "0", **environment, RAGLEDGER_HOME=str(settings.ragledger_home))
        try:
            api = listening(process)
            assert api.add("kettle.txt", "The copper kettle holds 12 litres.")["outcome"] == "pending"
            deadline = time.monotonic() + STOP_SECONDS
            while api("GET", "/pending-documents").json()["pending"][0]["attempts"] < 2:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()
            _, errors = process.communicate()
    assert "Traceback" not in errors


def test_a_body_over_the_limit_is_refused_however_its_length_is_told(served: subprocess.Popen[str]) -> None:
    api = listening(served)
    assert (
        api("POST", "/search", data=b"x" * 25_000_001, headers={"Content-Type": "application/json"}).status_code == 413
    )
    pieces = (b" " * 1_000_000 for _ in range(26))  # sent in chunks, without a Content-Length
    chunked = api("POST", "/search", data=pieces, headers={"Content-Type": "application/json"})
    assert (chunked.status_code, chunked.json()["field"]) == (413, "body")


def test_a_database_that_does_not_answer_is_told_in_one_line(settings: Settings) -> None:
    environment = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1"}
    process = start("--port", "0", **environment, RAGLEDGER_HOME=str(settings.ragledger_home))
    _, errors = process.communicate(timeout=STOP_SECONDS)
    assert process.returncode == 1
    assert errors.startswith("Error: the database does not answer")
    assert "Traceback" not in errors


def test_a_port_that_is_taken_is_told_with_exit_code_1(database_url: str, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        environment = {"DATABASE_URL": database_url, "REDIS_URL": "redis://127.0.0.1:1"}
        process = start("--port", port, **environment, RAGLEDGER_HOME=str(settings.ragledger_home))
        _, errors = process.communicate(timeout=STOP_SECONDS)
    assert process.returncode == 1
    assert port in errors
    assert "Traceback" not in errors
