"""Clients that are slow, foreign or malformed cost nobody else anything."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import requests
from api_client import Api
from test_api_serve import listening, served  # noqa: F401 - a fixture

from app.settings import Settings


@contextlib.contextmanager
def connections(api: Api, count: int, sent: bytes) -> Iterator[None]:
    """Sockets that have sent something, or nothing, and stay open."""
    parts = urlsplit(api.url)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            client = stack.enter_context(socket.create_connection((parts.hostname or "", parts.port or 0)))
            client.sendall(sent)
        yield


def test_silent_connections_take_no_thread(served: subprocess.Popen[str]) -> None:  # noqa: F811
    api = listening(served)
    with connections(api, 60, b""):
        started = time.perf_counter()
        assert requests.get(f"{api.url}/health/live", timeout=5).status_code == 200
        assert time.perf_counter() - started < 3


HALVES = [b"GET /health/live HTTP/1.1\r\nX-", b"POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{"]


@pytest.mark.parametrize("half", HALVES)
def test_half_a_request_is_given_up(served: subprocess.Popen[str], settings: Settings, half: bytes) -> None:  # noqa: F811
    api = listening(served)
    with connections(api, settings.server_threads, half):  # as many as there are threads
        assert requests.get(f"{api.url}/health/live", timeout=25).status_code == 200


def raw(api: Api, request: bytes) -> bytes:
    parts = urlsplit(api.url)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10) as client:
        client.sendall(request)
        return client.recv(65_536)


@pytest.mark.parametrize("chunk", [b"zz\r\n", b"-1\r\n", b"5\r\nhelloXX"])
def test_malformed_chunks_are_a_bad_request(served: subprocess.Popen[str], chunk: bytes) -> None:  # noqa: F811
    api = listening(served)
    head = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert raw(api, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk).split(b"\r\n")[0].startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("host", ["rebind.evil.example", "rebind.evil.example:80", "127.0.0.1.evil.example"])
def test_a_name_that_is_not_ours_is_refused(api: Api, host: str) -> None:
    answer = requests.get(f"{api.url}/health/live", headers={"Host": host}, timeout=10)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
    assert "ALLOWED_HOSTS" in answer.json()["detail"]


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "null", "http://evil.example", ""])
def test_a_page_of_another_site_may_not_ask_or_write(api: Api, origin: str) -> None:
    for method, path in (("POST", "/search"), ("GET", "/search"), ("DELETE", "/collections/k")):
        answer = requests.request(method, f"{api.url}{path}", headers={"Origin": origin}, timeout=10)
        assert answer.status_code == 403
