"""Read request bodies strictly: what is no JSON object in UTF-8 is refused before a model sees it."""

import json
import sys
from typing import Any, TypeVar

from flask import Request, abort, request
from gunicorn.http.errors import ParseException
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from app.api import problems
from app.api.problems import BadBody

Model = TypeVar("Model", bound=BaseModel)
_MEMBERS_MAX = 1_000  # of the outermost object; each unknown one would become an error with a place and a message


class JsonRequest(Request):
    """flask-openapi3 reads bodies by `get_json(silent=True)`, which would hide why a body cannot be read."""

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:  # noqa: ARG002
        """The body as a JSON object. Raises BadBody, UnsupportedMediaType, RequestEntityTooLarge."""
        try:
            data = self.get_data(cache=cache)
        except (OSError, ParseException) as e:  # the client fell silent, or its chunks are malformed
            raise BadBody("did not arrive whole") from e
        if self.content_length is None and len(data) >= (self.max_content_length or sys.maxsize):
            raise RequestEntityTooLarge  # werkzeug 3.1 cuts a chunked body at the limit and says nothing
        if not data:
            raise BadBody("is empty; a JSON object is expected")
        if self.mimetype != "application/json" or self.headers.get("Content-Encoding", "identity") != "identity":
            raise UnsupportedMediaType("the body must be application/json in UTF-8, not compressed")
        return _object(data)


def parsed(model: type[Model], value: Any) -> Model:
    """A value as a model; ends the request with a problem where it is none."""
    try:
        return model.model_validate(value)
    except ValidationError as e:
        abort(problems.of_validation(e))


def form() -> dict[str, Any]:
    """The fields of a multipart form; a field that carries files is a list of them."""
    try:
        fields: dict[str, Any] = dict(request.form)
    except (OSError, ParseException) as e:
        raise BadBody("did not arrive whole") from e
    return fields | {name: request.files.getlist(name) for name in request.files}


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as e:
        raise BadBody(f"is not UTF-8 at byte {e.start}") from e
    except json.JSONDecodeError as e:
        raise BadBody(f"is not JSON: {e.msg} at line {e.lineno}, column {e.colno}") from e
    except RecursionError as e:
        raise BadBody("is nested too deeply") from e
    except ValueError as e:  # more digits than sys.get_int_max_str_digits()
        raise BadBody("contains a number of too many digits") from e
    if not isinstance(value, dict):
        raise BadBody("is not a JSON object")
    if len(value) > _MEMBERS_MAX:
        raise BadBody(f"has {len(value)} members")
    return value
