"""How searches and answers look in a terminal."""

from collections.abc import Sequence

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from app.records import Answer, Hit, SearchResult

SNIPPET_CHARS = 60


def search(result: SearchResult, question: str, console: Console) -> None:
    """A table with the raw, normalised and final scores of each hit."""
    table = Table(title=Text(question, "bold"), title_justify="left", caption=Text(_note(result), "dim"))
    table.caption_justify = "left"
    for name in ("#", "document"):
        table.add_column(name)
    for name in ("cosine", "bm25", "fused", "span", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for hit in result.hits:
        scores = (hit.cosine, hit.bm25, hit.fused, hit.span_cosine, hit.score)
        table.add_row(str(hit.rank), _place(hit), *map(_number, scores))
    console.print(table)


def answer(made: Answer, question: str, console: Console) -> None:
    """The answer, its citations and where it came from."""
    cited = [
        Text(f"[{c.number}] {c.source}{' · ' + c.section if c.section else ''}  {c.start_char}–{c.end_char}", "dim")
        for c in made.citations
    ]
    origin = f"{made.source}{', cached' if made.cached else ''}, confidence {made.confidence:.2f}"
    degraded = f", degraded: {', '.join(made.degraded)}" if made.degraded else ""
    note = Text(f"{origin}{degraded}, {made.timings_ms['total']:.0f} ms, query {made.query_id}", "dim")
    console.print(Panel(Group(Text(made.text), *cited, note), title=Text(question, "bold"), title_align="left"))


def _place(hit: Hit) -> Text:
    section = f" · {hit.section}" if hit.section else ""
    snippet = " ".join(hit.text.split())
    shown = snippet if len(snippet) <= SNIPPET_CHARS else snippet[:SNIPPET_CHARS] + "…"
    return Text.assemble((f"{hit.source}{section}\n", ""), (shown, "dim"))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _note(result: SearchResult) -> str:
    degraded: Sequence[str] = [f"degraded: {', '.join(result.degraded)}"] if result.degraded else []
    parts = [f"lexical confidence {result.confidence:.2f}", f"{result.timings_ms['total']:.0f} ms", *degraded]
    return ", ".join([*parts, f"query {result.query_id}"])
