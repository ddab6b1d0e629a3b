"""Errors as application/problem+json (RFC 9457). The one place that knows which error is which status."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, request
from flask_openapi3.types import ResponseDict
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import BadRequest, HTTPException

from app import errors
from app.errors import InvalidInput, RagledgerError
from app.records import Ingested

_LOG = logging.getLogger(__name__)
_ERRORS_LISTED = 20
_NAME_MAX_CHARS = 100
_RETRY_AFTER_SECONDS = "5"

STATUSES: Mapping[type[RagledgerError], HTTPStatus] = {
    errors.RagledgerError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnreadableDocument: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.CollectionNotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.EmbeddingFailed: HTTPStatus.BAD_GATEWAY,
    errors.EmbedderUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.WrongModel: HTTPStatus.BAD_GATEWAY,
    errors.RerankerUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RerankingFailed: HTTPStatus.BAD_GATEWAY,
    errors.CacheUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.DatabaseUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.UnsupportedServer: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ServiceFailed: HTTPStatus.SERVICE_UNAVAILABLE,
}
_FIELDS: Mapping[type[RagledgerError], str] = {
    errors.CollectionNotFound: "collection",
    errors.UnreadableDocument: "text",
}
# what the operator must know stays in the log: these messages name hosts, users and files
_TOLD: Mapping[HTTPStatus, str] = {
    HTTPStatus.INTERNAL_SERVER_ERROR: "the service failed; its log has the reason under this request id",
    HTTPStatus.BAD_GATEWAY: "a model gave no usable vectors or scores; the log has the reason under this request id",
    HTTPStatus.SERVICE_UNAVAILABLE: "a part of the service does not answer; try again in a few seconds",
}


class FieldError(BaseModel):
    """One thing that is wrong. `field` is a dotted path, "body" for the whole of it."""

    field: str
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(json_schema_extra={"example": "/problems/invalid-input"})
    title: str
    status: int
    detail: str
    instance: str = Field(description="The path that was asked for")
    request_id: str
    field: str | None = Field(None, description="The first field that is wrong")
    errors: list[FieldError] = []


class BadBody(BadRequest):
    """The body as a whole cannot be read."""

    field = "body"


def _response(slug: str, title: str, status: int, detail: str, found: Sequence[FieldError] = ()) -> Response:
    body = Problem(
        type=f"/problems/{slug}",
        title=title,
        status=status,
        detail=detail,
        instance=_printable(request.path),
        request_id=request.environ.get("ragledger.request_id", "-"),
        field=found[0].field if found else None,
        errors=list(found),
    )
    text = body.model_dump_json(exclude_none=True)
    response = Response(text, status, content_type="application/problem+json")
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = _RETRY_AFTER_SECONDS
    return response


def invalid(found: Sequence[FieldError]) -> Response:
    """Input that can be read but not used."""
    detail = f"{found[0].field}: {found[0].message}"
    return _response("invalid-input", "Invalid input", HTTPStatus.UNPROCESSABLE_ENTITY, detail, found)


def failed_files(outcomes: Sequence[Ingested]) -> Response:
    """All files of an upload failed: their names and reasons."""
    return invalid([FieldError(field="file", message=f"{o.source}: {o.reason}") for o in outcomes])


def of_validation(error: ValidationError) -> Response:
    """What pydantic found, without the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:_ERRORS_LISTED]
    return invalid([FieldError(field=_field(e["loc"]), message=e["msg"]) for e in found])


def slug_of(error: str) -> str:
    """The name of an error's class as problems name it."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in error).strip("-")


def of_domain(error: RagledgerError) -> Response:
    """An error of the domain; the message is for the user, except where only the operator can help."""
    status = STATUSES[type(error)]
    slug = slug_of(type(error).__name__)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _LOG.error("http.failed error=%s detail=%s", type(error).__name__, error)
        return _response(slug, status.phrase, status, _TOLD[status])
    if isinstance(error, InvalidInput):
        return invalid([FieldError(field=error.field, message=_printable(error.reason))])
    field = _FIELDS.get(type(error))
    found = [FieldError(field=field, message=_printable(str(error)))] if field else []
    return _response(slug, slug.replace("-", " ").capitalize(), status, _printable(str(error)), found)


def of_http(error: HTTPException) -> Response:
    """What the framework refuses: no such path, another method, too large a body. Keeps its headers (Allow)."""
    status, detail = error.code or HTTPStatus.INTERNAL_SERVER_ERROR, error.description or error.name
    field = getattr(error, "field", "body" if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else None)
    found = [FieldError(field=field, message=detail)] if field else []
    slug, detail = error.name.lower().replace(" ", "-"), f"{field}: {detail}" if field else detail
    response = _response(slug, error.name, status, detail, found)
    kept = {name: value for name, value in error.get_headers() if name not in {"Content-Type", "Content-Length"}}
    response.headers.update(kept)
    return response


def of_surprise(error: Exception) -> Response:
    """Anything else is ours to repair: the log has the traceback, the caller the request id."""
    _LOG.error("http.surprise error=%s", type(error).__name__, exc_info=error)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return _response("internal-server-error", status.phrase, status, _TOLD[status])


def register(app: Flask) -> None:
    """Turn every error of an app into a problem."""
    app.register_error_handler(RagledgerError, of_domain)
    app.register_error_handler(HTTPException, of_http)
    app.register_error_handler(Exception, of_surprise)


def _field(location: Sequence[Any]) -> str:
    return _printable(".".join(str(part) for part in location)) or "body"


def _printable(text: str) -> str:
    shown = text.encode("utf-8", "replace").decode()
    return shown if len(shown) <= _NAME_MAX_CHARS * 5 else shown[: _NAME_MAX_CHARS * 5] + "…"


def documented(*statuses: HTTPStatus) -> ResponseDict:
    """Problems for an operation's `responses`."""
    schema = {"$ref": "#/components/schemas/Problem"}
    content = {"application/problem+json": {"schema": schema}}
    return {s: {"description": s.phrase, "content": content} for s in statuses}
