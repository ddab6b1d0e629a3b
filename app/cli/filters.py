"""Options that narrow a search, the same for every command that asks."""

import json
import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from pydantic import ValidationError

from app.records import Filters

_OPERATORS = {"=": "eq", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_COMPARISON = re.compile(r"(?P<key>.+?)\s*(?P<operator>>=|<=|=|>|<)\s*(?P<value>.*)", re.DOTALL)
_EXISTENCE = re.compile(r"(?P<key>.+):(?P<what>exists|missing)", re.DOTALL)
_HELP = (
    'What a document\'s metadata must be: key=value, key>=2020, key:exists, key:missing, or key=["a","b"] for any of '
    'them. Numbers, true and false are taken as such; key="2020" is text. Repeat it: all must hold.'
)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --filter, --source-prefix and --section; the command gets them as `narrowed`."""

    @wraps(command)
    def called(*, conditions: tuple[str, ...], source_prefix: str | None, section: str | None, **rest: Any) -> None:
        command(narrowed=_parsed(conditions, source_prefix, section), **rest)

    made = click.option("--section", help='Only this heading and what is below it: "A > B".')(called)
    made = click.option("--source-prefix", help="Only documents whose source begins so.")(made)
    return click.option("--filter", "conditions", multiple=True, metavar="CONDITION", help=_HELP)(made)


def _parsed(conditions: tuple[str, ...], source_prefix: str | None, section: str | None) -> Filters:
    """The filters of a command line. Raises click.UsageError naming what cannot be used."""
    from app.api.filters import FiltersBody  # here: it brings Flask, and most calls have no filter

    given: dict[str, Any] = {"source_prefix": source_prefix, "section": section, "metadata": _metadata(conditions)}
    try:
        return FiltersBody.model_validate({name: value for name, value in given.items() if value}).to_filters()
    except ValidationError as e:
        lines = [f"{'.'.join(map(str, error['loc']))} {error['msg']}" for error in e.errors()]
        raise click.UsageError("; ".join(lines)) from e


def _metadata(conditions: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for condition in conditions:
        key, operator, value = _condition(condition)
        if operator in found.setdefault(key, {}):
            raise click.UsageError(f"--filter {condition}: {key} has such a condition already")
        found[key][operator] = value
    return found


def _condition(condition: str) -> tuple[str, str, Any]:
    if match := _COMPARISON.fullmatch(condition):
        value = _value(match["value"])
        in_list = isinstance(value, list) and match["operator"] == "="
        return match["key"], "in" if in_list else _OPERATORS[match["operator"]], value
    if match := _EXISTENCE.fullmatch(condition):
        return match["key"], "exists", match["what"] == "exists"
    raise click.UsageError(f"--filter {condition}: expected key=value, key>=value, key:exists or key:missing")


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if value is None or isinstance(value, dict) else value
