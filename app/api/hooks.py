"""What happens around every request: an id, one line in the log, safe headers."""

import logging
import re
import time
from uuid import uuid4

from flask import Flask, Response, request
from werkzeug.exceptions import BadRequest, Forbidden

from app import log
from app.api.context import resources
from app.db import positions

_LOG = logging.getLogger(__name__)
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_POSITION = "Ragledger-Position"
_ASKING = {"/search"}  # a GET that costs work and leaves rows
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class BadPosition(BadRequest):
    """The position in the header is none."""

    field = _POSITION


def register(app: Flask) -> None:
    """Install the hooks."""
    app.before_request(_begin)
    app.before_request(_refuse_other_hosts)
    app.before_request(_refuse_other_sites)
    app.before_request(_take_position)
    app.after_request(_finish)
    app.teardown_request(_forget)


def _begin() -> None:
    given = request.headers.get("X-Request-ID", "")
    request_id = given if _ID.fullmatch(given) else uuid4().hex
    request.environ["ragledger.request_id"] = request_id
    request.environ["ragledger.started"] = time.perf_counter()
    log.request_id.set(request_id)
    positions.asked.set(0)
    positions.written.set(0)


def _refuse_other_hosts() -> None:
    """A name that somebody points at 127.0.0.1 makes this service look like that somebody's own site to a browser."""
    allowed = resources().settings.allowed_hosts
    host = re.sub(r":\d*\Z", "", request.host).lower()
    if allowed != "*" and host not in {name.strip().lower() for name in allowed.split(",")}:
        raise Forbidden(f"the host {host[:100]!r} is not among ALLOWED_HOSTS")


def _refuse_other_sites() -> None:
    """A page of another site must not write through its visitor's browser, which reaches loopback addresses.

    The rules are those of Go's net/http.CrossOriginProtection; clients that are no browser send neither header.
    """
    if request.method in _SAFE_METHODS and request.path not in _ASKING:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site in {"same-origin", "none"} or (
        site is None and (origin is None or origin.partition("://")[2] == request.host)
    ):
        return
    raise Forbidden("a browser sent this from a page of another site")


def _take_position() -> None:
    """The caller wants to see at least what the request wrote whose reply carried this."""
    if (given := request.headers.get(_POSITION)) is not None:
        try:
            positions.asked.set(positions.parse(given))
        except ValueError as e:
            raise BadPosition(str(e)) from e


def _finish(response: Response) -> Response:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-ID"] = request.environ["ragledger.request_id"]
    if written := positions.written.get():
        response.headers[_POSITION] = positions.tell(written)
    route = request.url_rule.rule if request.url_rule else "-"
    elapsed_ms = (time.perf_counter() - request.environ["ragledger.started"]) * 1000
    arguments = (request.method, route, response.status_code, elapsed_ms)
    _LOG.info("http.request method=%s route=%s status=%s ms=%.1f", *arguments)
    return response


def _forget(_: BaseException | None) -> None:
    log.request_id.set("-")
