"""Rows as Markdown: tables within a text, and records that name their columns where rows are all there is."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first row is its header."""
    made = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join([made[0], "|" + "---|" * len(rows[0]), *made[1:]]) if rows else ""


def records(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Each row after the first as a line `- column: value; column: value`, so that no chunk lacks its header.

    Empty cells are left out, and rows of nothing else. A header without rows is a line of its own.
    """
    header: list[str] = []
    lonely = False
    for row in rows:
        cells = [" ".join(value.split()) for value in row]
        if not any(cells):
            continue
        if not header:
            header, lonely = cells, True
            continue
        yield record(zip_longest(header, cells, fillvalue=""))
        lonely = False
    if lonely:
        yield record(("", value) for value in header)


def record(pairs: Iterable[tuple[str, str]]) -> str:
    """A line of what a row holds."""
    return "- " + "; ".join(f"{name}: {value}" if name else value for name, value in pairs if value)


def cell(text: str) -> str:
    """What may stand between the bars of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")
