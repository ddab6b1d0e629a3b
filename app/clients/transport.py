"""POST JSON to a server that may be slow, away, hostile or no server of ours. What requests raises stops here."""

import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from app.clients import deadline

_READ_BYTES = 65_536
_CONNECT_SECONDS = 5.0  # a host that drops packets would else cost the whole wait
# A proxy on the way to an http:// address would read the key; on the way to https:// it is handed sealed bytes.
_NO_PLAIN_PROXY = {"http": ""}


class NoAnswer(Exception):
    """Nothing usable came in time: no connection, a timeout, a connection cut off. The message names no host."""

    def __init__(self, reason: str, *, in_time: bool, cut_short: bool = False) -> None:
        """`in_time`: it failed by itself, before the wait was over; `cut_short`: the wait was too short to tell."""
        super().__init__(reason)
        self.in_time, self.cut_short = in_time, cut_short


class TooLarge(Exception):
    """An answer beyond the bound: it was not read to its end."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whatever its status. A redirect is not followed."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status == HTTPStatus.OK


class Transport:
    """Connections to one server, kept open. Safe to use from several threads."""

    def __init__(self, key: str | None) -> None:
        """`key` is the bearer token, sent to no other host."""
        self._session = requests.Session()
        self._session.auth = _Bearer(key)
        self._session.mount("http://", _Adapter())
        self._session.mount("https://", _Adapter())

    def post(self, url: str, body: Any, *, seconds: float, max_bytes: int) -> Reply:
        """The reply to one request. Raises NoAnswer, also where it comes but drop by drop, and TooLarge."""
        end = time.monotonic() + seconds
        try:
            with deadline.within(seconds):
                return self._post(url, body, max_bytes)
        except (requests.RequestException, HTTPError, TimeoutError) as error:
            raise NoAnswer(type(error).__name__, in_time=time.monotonic() < end) from error

    def _post(self, url: str, body: Any, max_bytes: int) -> Reply:
        content = bytearray()
        left = _left()
        with self._session.post(
            url,
            json=body,
            timeout=(min(left, _CONNECT_SECONDS), left),
            stream=True,
            allow_redirects=False,
            proxies=_NO_PLAIN_PROXY,
        ) as reply:
            _left()  # else what was cut could pass for whole
            while part := reply.raw.read1(_READ_BYTES, decode_content=True):
                content += part
                _left()
                if len(content) > max_bytes:
                    raise TooLarge(f"longer than {max_bytes} bytes")
            return Reply(reply.status_code, bytes(content), reply.headers)


class _Bearer(AuthBase):
    """The key and no other: requests would else send what a ~/.netrc holds for the host, even instead of it."""

    def __init__(self, key: str | None) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        return request


class _Hurried(HTTPConnection):
    """Waits for headers no longer than there is time: the socket's timeout is for each byte of them."""

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # as urllib3's own
        cut = threading.Timer(_left(), _cut, [self.sock])
        cut.daemon = True
        cut.start()
        try:
            return super().getresponse()
        finally:
            cut.cancel()


class _HurriedTLS(_Hurried, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Hurried


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _HurriedTLS


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}


def _cut(connected: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # a TLS socket's own takes it from under who reads


def _left() -> float:
    if not (seconds := deadline.seconds_left() or 0):
        raise TimeoutError
    return seconds
