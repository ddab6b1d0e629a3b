"""The metadata at the head of a Markdown file."""

import re
from typing import Any

import yaml

_JSON_SCALARS = (
    ("tag:yaml.org,2002:bool", r"(?:true|false)\Z", "tf"),
    ("tag:yaml.org,2002:int", r"-?(?:0|[1-9][0-9]{0,14})\Z", "-0123456789"),
    ("tag:yaml.org,2002:null", r"(?:null|~|)\Z", ["n", "~", ""]),
)


class _Loader(yaml.SafeLoader):
    """YAML with JSON's idea of a value: `1.10` is no float, `no` no boolean, `2024-01-01` no date."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 PyYAML's own name, read from the class


for _tag, _pattern, _first in _JSON_SCALARS:
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


def read_front_matter(text: str) -> dict[str, Any]:
    """The scalars and lists of scalars; nested values are left out.

    What is not YAML after all (`title: One: two`) is read line by line, so that no value is lost for one colon.
    """
    try:
        found = _Loader(text).get_single_data()
    except Exception:
        found = None
    if not isinstance(found, dict):
        rows = (line.partition(":") for line in text.splitlines() if line[:1].isalnum())
        found = {key.strip(): value.strip().strip("\"'") for key, colon, value in rows if colon}
    return {str(key): value for key, value in found.items() if _is_plain(value)}


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(not isinstance(item, list) and _is_plain(item) for item in value)
    return isinstance(value, int) or (isinstance(value, str) and value != "" and _is_storable(value))


def _is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold it: an escape in a quoted YAML string can write NUL or half a surrogate pair."""
    return not any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text)
