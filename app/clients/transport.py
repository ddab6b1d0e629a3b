"""POST JSON to a server that may be slow, away, hostile or no server of ours. What requests raises stops here."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import requests
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError

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

    def post(self, url: str, body: Any, *, seconds: float, max_bytes: int) -> Reply:
        """The reply to one request. Raises NoAnswer, also where it comes but drop by drop, and TooLarge."""
        deadline = time.monotonic() + seconds
        try:
            return self._post(url, body, deadline, max_bytes)
        except (requests.RequestException, HTTPError, TimeoutError) as error:
            raise NoAnswer(type(error).__name__, in_time=time.monotonic() < deadline) from error

    def _post(self, url: str, body: Any, deadline: float, max_bytes: int) -> Reply:
        content = bytearray()
        left = _left(deadline)
        with self._session.post(
            url,
            json=body,
            timeout=(min(left, _CONNECT_SECONDS), left),
            stream=True,
            allow_redirects=False,
            proxies=_NO_PLAIN_PROXY,
        ) as reply:
            while part := reply.raw.read1(_READ_BYTES, decode_content=True):
                content += part
                _left(deadline)
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


def _left(deadline: float) -> float:
    if (seconds := deadline - time.monotonic()) <= 0:
        raise TimeoutError
    return seconds
