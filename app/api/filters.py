"""The filters of a search, as callers send them."""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from app.api.texts import METADATA_MAX_BYTES, SOURCE_MAX_CHARS, Id, Orderable, Scalar, Text
from app.records import Filters

_LISTED_MAX = 1_000
_KEYS_MAX = 50
_ONE_OF = (("gt", "gte"), ("lt", "lte"))


def _equality(value: object) -> object:
    """A bare value asks for equality."""
    return value if isinstance(value, dict) else {"eq": value}


def _moment(value: object) -> datetime:
    """ISO 8601; without an offset it is UTC, without a time the day's beginning."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise PydanticCustomError("moment", "is no ISO 8601 date or time, such as 2026-01-31 or 2026-01-31T08:00:00Z")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parsed(value: object) -> object:
    """In a URL the filters are one JSON object as text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as e:
        raise PydanticCustomError("json", "is no JSON object") from e


def _one_bound(given: Collection[str]) -> None:
    if not given:
        raise PydanticCustomError("nothing", "names no condition")
    for one, other in _ONE_OF:
        if one in given and other in given:
            raise PydanticCustomError("both", "has both {one} and {other}", {"one": one, "other": other})


def _no_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


Moment = Annotated[datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string", "example": "2026-01-31"})]


class _Conditions(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, json_schema_extra=_no_defaults)

    @model_validator(mode="after")
    def _makes_sense(self) -> "_Conditions":
        _one_bound(self.model_fields_set)
        return self

    def given(self) -> dict[str, Any]:
        """Operator -> value, of those that were given."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class ValueConditions(_Conditions):
    """What must hold for one key of a document's metadata; a list there matches by any of its elements."""

    eq: Scalar = None
    in_: list[Scalar] = Field([], alias="in", min_length=1, max_length=_LISTED_MAX)
    gt: Orderable = None
    gte: Orderable = None
    lt: Orderable = None
    lte: Orderable = None
    exists: bool = Field(True, description="Whether the key has a value other than null")


class MomentConditions(_Conditions):
    """What must hold for a moment. Without an offset it is UTC."""

    gt: Moment = Field(datetime.min)
    gte: Moment = Field(datetime.min)
    lt: Moment = Field(datetime.max)
    lte: Moment = Field(datetime.max)


class FiltersBody(BaseModel):
    """Which chunks may be found: all that is given must hold."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, json_schema_extra=_no_defaults)

    metadata: dict[Text, Annotated[ValueConditions, BeforeValidator(_equality)]] = Field(
        {}, max_length=_KEYS_MAX, description="By key of the document's metadata: a value, or conditions",
        json_schema_extra={"example": {"department": "HR", "year": {"gte": 2020}}},
    )  # fmt: skip
    source_prefix: Annotated[Text, Field(max_length=SOURCE_MAX_CHARS, description="What the source begins with")] = ""
    section: Annotated[Text, Field(max_length=10_000, description='A heading path, "A > B": it and what is below')] = ""
    document_ids: list[Id] = Field([], min_length=1, max_length=_LISTED_MAX)
    created_at: MomentConditions = MomentConditions.model_construct()
    updated_at: MomentConditions = MomentConditions.model_construct()

    @model_validator(mode="before")
    @classmethod
    def _is_small(cls, value: object) -> object:
        """All of it is kept with each question."""
        if isinstance(value, dict) and (size := len(json.dumps(value, default=str))) > METADATA_MAX_BYTES:
            context = {"size": size, "limit": METADATA_MAX_BYTES}
            raise PydanticCustomError("too_large", "has {size} bytes as JSON, the limit is {limit}", context)
        return value

    def to_filters(self) -> Filters:
        """The filters as the pipeline knows them."""
        return Filters(
            metadata={key: conditions.given() for key, conditions in self.metadata.items()},
            source_prefix=self.source_prefix,
            section=self.section,
            document_ids=tuple(self.document_ids),
            created_at=self.created_at.given(),
            updated_at=self.updated_at.given(),
        )


FiltersText = Annotated[
    FiltersBody,
    BeforeValidator(_parsed),
    WithJsonSchema({"type": "string", "example": '{"source_prefix": "handbook/"}'}),
]
