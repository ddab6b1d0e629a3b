"""Named statements and the code that runs them agree."""

import re
from pathlib import Path

import pytest

from app.settings import ROOT

FILES = sorted((ROOT / "sql" / "queries").glob("*.sql"))
CODE = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "app" / "db").glob("*.py"))}
FILTERS = (ROOT / "app" / "db" / "filters.py").read_text(encoding="utf-8")
USES = re.compile(r'statement\(\s*"(\w+)",\s*"(\w+)"')
PLACEHOLDER = re.compile(r"%\((\w+)\)[sb]")


def statements() -> dict[tuple[str, str], str]:
    found = {}
    for file in FILES:
        parts = re.split(r"^-- name: (\w+)\s*$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            assert (file.stem, name) not in found, f"{file.stem}.{name} stands twice"
            found[file.stem, name] = body
    return found


def users(aggregate: str, name: str) -> list[Path]:
    return [p for p, code in CODE.items() if (aggregate, name) in USES.findall(code) or f'"{name}"' in code]


@pytest.mark.parametrize("key", statements(), ids=".".join)
def test_every_statement_is_run_by_code_that_binds_its_placeholders(key: tuple[str, str]) -> None:
    aggregate, name = key
    callers = users(aggregate, name)
    assert callers, f"nothing runs {aggregate}.{name}"
    bound = " ".join(CODE[path] for path in callers)
    for placeholder in set(PLACEHOLDER.findall(statements()[key])):
        named_by_a_record = aggregate == "spaces"  # bound by asdict(ModelIdentity)
        of_a_filter = f'"{placeholder}"' in FILTERS and "filters.values(" in bound
        assert named_by_a_record or of_a_filter or f'"{placeholder}"' in bound, (
            f"{aggregate}.{name} is not given {placeholder}"
        )


def test_every_statement_that_code_names_exists() -> None:
    known = statements()
    used = {key for code in CODE.values() for key in USES.findall(code)}
    assert used
    assert used <= known.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_value_is_formatted_into_a_statement(file: Path) -> None:
    text = re.sub(PLACEHOLDER, "", file.read_text(encoding="utf-8"))
    assert "%" not in text
    assert not re.search(r"\{\w*\}", text)


def test_both_paths_are_filtered_by_the_same_condition() -> None:
    found = statements()
    condition = re.compile(r"d\.state = 'active'\n.*?\|\| ' > '\)\)", re.DOTALL)
    listing, scanning = (
        condition.findall(found[key]) for key in (("filters", "allowed"), ("vectors", "nearest_indexed"))
    )
    assert len(listing) == 1
    assert listing == scanning
