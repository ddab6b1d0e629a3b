"""How searches and answers look in a terminal."""

import sys
from collections.abc import Sequence

from rich.console import Console, Group
from rich.panel import Panel
from rich.progress import ProgressColumn, Task
from rich.table import Table
from rich.text import Text

from app.records import Answer, Hit, SearchResult

SNIPPET_CHARS = 200  # the column cuts it to what fits
WIDTH = 110  # where the output is no terminal


def console() -> Console:
    """The terminal, or a page wide enough for the tables."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH)


def search(result: SearchResult, question: str, console: Console) -> None:
    """A table with the raw, normalised and final scores of each hit."""
    table = Table(title=Text(safe(question), "bold"), title_justify="left", expand=True)
    table.caption, table.caption_justify = Text(_note(result), "dim"), "left"
    table.add_column("#")
    table.add_column("document", no_wrap=True, overflow="ellipsis", ratio=1)
    for name in ("cosine", "bm25", "fused", "rerank", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for hit in result.hits:
        scores = (hit.cosine, hit.bm25, hit.fused, hit.rerank_score, hit.score)
        table.add_row(str(hit.rank), _place(hit), *map(number, scores))
    console.print(table)


def answer(made: Answer, question: str, console: Console) -> None:
    """The answer, its citations and where it came from."""
    cited = [
        Text(
            safe(f"[{c.number}] {c.source}{' · ' + c.section if c.section else ''}  {c.start_char}–{c.end_char}"),
            "dim",
        )
        for c in made.citations
    ]
    origin = f"{made.source}{', cached' if made.cached else ''}, confidence {made.confidence:.2f}"
    degraded = f", degraded: {', '.join(made.degraded)}" if made.degraded else ""
    note = Text(f"{origin}{degraded}, {made.timings_ms['total']:.0f} ms, query {made.query_id}", "dim")
    console.print(
        Panel(Group(Text(safe(made.text)), *cited, note), title=Text(safe(question), "bold"), title_align="left")
    )


def _place(hit: Hit) -> Text:
    snippet = " ".join(hit.text.split())[:SNIPPET_CHARS]
    also = f" (and in {len(hit.also_found_in)} more)" if hit.also_found_in else ""
    grown = f" [{hit.passage.start_char}–{hit.passage.end_char}]" if hit.passage else ""
    return Text.assemble((safe(_named(hit.source, hit.section)) + also + grown + "\n", ""), (safe(snippet), "dim"))


def _named(source: str, section: str) -> str:
    return f"{source} · {section}" if section else source


def safe(text: str) -> str:
    """Without what would steer the terminal: a document's escape sequences are not ours."""
    return "".join(char if char.isprintable() or char in "\n\t" else "�" for char in text)


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _note(result: SearchResult) -> str:
    degraded: Sequence[str] = [f"degraded: {', '.join(result.degraded)}"] if result.degraded else []
    parts = [f"lexical confidence {result.confidence:.2f}", f"{result.timings_ms['total']:.0f} ms", *degraded]
    return ", ".join([*parts, f"query {result.query_id}"])


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "")
