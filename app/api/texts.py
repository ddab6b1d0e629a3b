"""The types of what callers send: everything that PostgreSQL or JSON could not carry is refused here, by name."""

import json
import math
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

BIGINT_MAX = 2**63 - 1
SOURCE_MAX_CHARS = 500  # it is indexed: PostgreSQL takes 2,704 bytes, and a character has up to four
METADATA_MAX_DEPTH = 8
METADATA_MAX_BYTES = 64_000


def _storable(value: str) -> str:
    if "\0" in value:
        raise PydanticCustomError("nul", "contains a NUL at character {at}", {"at": value.index("\0")})
    if (at := _surrogate(value)) is not None:
        raise PydanticCustomError("surrogate", "contains half of a surrogate pair at character {at}", {"at": at})
    return value


def _surrogate(value: str) -> int | None:
    try:
        value.encode()
    except UnicodeEncodeError as e:
        return e.start
    return None


def _not_blank(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("blank", "is empty")
    return value


def _one_line(value: str) -> str:
    for at, character in enumerate(value):
        if unicodedata.category(character) in {"Cc", "Zl", "Zp"}:
            raise PydanticCustomError("control", "contains a control character at character {at}", {"at": at})
    return value


def source_name(value: str) -> str:
    """A document's name, checked."""
    if len(value) > SOURCE_MAX_CHARS:
        context = {"length": len(value), "limit": SOURCE_MAX_CHARS}
        raise PydanticCustomError("too_long", "has {length} characters, the limit is {limit}", context)
    return _one_line(_not_blank(_storable(value)))


def _scalar(value: object) -> None:
    if isinstance(value, str):
        _storable(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("finite", "contains a number that is not finite")


def _plain(value: object) -> object:
    if not isinstance(value, str | int | float):
        raise PydanticCustomError("scalar", "is no string, number or boolean")
    _scalar(value)
    return value


def _ordered(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PydanticCustomError("orderable", "is no string or number")
    return _plain(value)


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    waiting: list[tuple[int, Any]] = [(1, value)]
    values = 0
    while waiting:  # no recursion: the caller chooses the depth
        depth, item = waiting.pop()
        if depth > METADATA_MAX_DEPTH:
            raise PydanticCustomError("depth", "is nested deeper than {limit} levels", {"limit": METADATA_MAX_DEPTH})
        if isinstance(item, dict | list):
            values += len(item)
            if values > METADATA_MAX_BYTES:  # each has a byte at least
                raise PydanticCustomError("too_large", "has more than {limit} values", {"limit": METADATA_MAX_BYTES})
            waiting += [(depth, key) for key in item] if isinstance(item, dict) else []
            waiting += [(depth + 1, child) for child in (item.values() if isinstance(item, dict) else item)]
        else:
            _scalar(item)
    if (size := len(json.dumps(value, ensure_ascii=False).encode())) > METADATA_MAX_BYTES:
        context = {"size": size, "limit": METADATA_MAX_BYTES}
        raise PydanticCustomError("too_large", "has {size} bytes as JSON, the limit is {limit}", context)
    return value


Text = Annotated[str, AfterValidator(_storable), AfterValidator(_not_blank)]
"""Text with something in it, free of what PostgreSQL cannot store."""

Line = Annotated[Text, AfterValidator(_one_line)]
"""The same without line breaks and other control characters."""

CollectionName = Annotated[Line, Field(max_length=200)]
SourceName = Annotated[str, AfterValidator(source_name), Field(json_schema_extra={"maxLength": SOURCE_MAX_CHARS})]
Id = Annotated[int, Field(ge=1, le=BIGINT_MAX)]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
_STRING, _NUMBER, _BOOLEAN = ({"type": name} for name in ("string", "number", "boolean"))
Scalar = Annotated[Any, AfterValidator(_plain), WithJsonSchema({"anyOf": [_STRING, _NUMBER, _BOOLEAN]})]
Orderable = Annotated[Any, AfterValidator(_ordered), WithJsonSchema({"anyOf": [_STRING, _NUMBER]})]
