"""How an explained search looks in a terminal: paths, steps, terms and what was collapsed, each as a table."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.cli.show import number, safe
from app.records import Explanation, Hit, HitExplanation, SearchResult

HITS_WITH_TERMS = 6  # a column each; --json has all
SNIPPET_CHARS = 100


def show(result: SearchResult, console: Console) -> None:
    """Print the explanation of a search, where it has one."""
    if explanation := result.explanation:
        for part in (_basis(explanation), _paths(explanation), _steps(result.hits, explanation), _spans(explanation)):
            console.print(part)
        console.print(_terms(explanation))
        if explanation.collapses:
            console.print(_collapses(explanation))


def _table(title: str, texts: Sequence[str], numbers: Sequence[str], caption: str = "") -> Table:
    """`texts` are the left columns, `numbers` the right ones."""
    table = Table(title=Text(title, "bold"), title_justify="left", caption=Text(caption, "dim"), caption_justify="left")
    for name in texts:
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _basis(explanation: Explanation) -> Text:
    statistics = explanation.statistics
    lines = (
        f"tokens: {' '.join(explanation.tokens)}",
        f"tokenizer: {explanation.tokenizer}; vector scan: {explanation.vector_scan}",
        f"{statistics.live_chunks} live chunks of {statistics.mean_length:.1f} tokens on average",
        f"lexical confidence {explanation.confidence:.3f}: best BM25 {explanation.best_bm25:.3f} of the "
        f"{statistics.bound:.3f} that the question could reach, over c0 {explanation.parameters['confidence_c0']}",
    )
    return Text(safe("\n".join(lines)), "dim")


def _paths(explanation: Explanation) -> Table:
    names = ("weight", "candidates", "on its list", "lowest", "highest", "mean", "deviation")
    table = _table("Paths", ("path", "method"), names)
    for path in explanation.paths:
        counts = (str(path.known), str(path.listed))
        bounds = map(number, (path.low, path.high, path.mean, path.deviation))
        table.add_row(path.path, path.method, number(path.weight), *counts, *bounds)
    return table


def _steps(hits: Sequence[Hit], explanation: Explanation) -> Table:
    note = "ranks by vector (v), BM25 (b), fused (f) and reranked (r); the last four: parts of the score, and their sum"
    table = _table("Steps", ("#", "document"), ("v#", "b#", "f#", "r#", "vector", "bm25", "rerank", "score"), note)
    for hit, made in zip(hits, explanation.hits, strict=True):
        ranks = (made.vector_rank, made.bm25_rank, made.fused_rank, made.reranked_rank)
        parts = (made.vector_part, made.bm25_part, made.rerank_part, hit.score)
        shown = ("-" if rank is None else str(rank) for rank in ranks)
        table.add_row(str(hit.rank), safe(hit.source), *shown, *map(number, parts))
    return table


def _spans(explanation: Explanation) -> Table:
    table = Table(title=Text("Best spans", "bold"), title_justify="left", expand=True)
    for name in ("#", "characters", "cosine", "coverage"):
        table.add_column(name, no_wrap=True)
    table.add_column("text", no_wrap=True, overflow="ellipsis", ratio=1)
    for made in explanation.hits:
        if span := made.best_span:
            place = f"{span.start_char}–{span.end_char}"
            snippet = safe(" ".join(span.text.split())[:SNIPPET_CHARS])
            table.add_row(str(made.final_rank), place, number(span.cosine), number(span.coverage), Text(snippet))
    return table


def _terms(explanation: Explanation) -> Table:
    """Terms by hits: what each adds to the BM25 of each, and of how many occurrences."""
    hits = explanation.hits[:HITS_WITH_TERMS]
    note = "by hit: what the term adds to its BM25 (and its occurrences there)"
    table = _table("BM25 by term", ("term",), ("asked", "chunks", "idf", *(f"#{h.final_rank}" for h in hits)), note)
    for term in sorted(explanation.statistics.terms, key=lambda term: -term.count * term.idf):
        cells = _cells(term.term, hits)
        table.add_row(safe(term.term), str(term.count), str(term.df), number(term.idf), *cells)
    lengths = ("-" if hit.length is None else str(hit.length) for hit in hits)
    table.add_row(Text("length, tokens", "dim"), "", "", "", *lengths)
    return table


def _cells(term: str, hits: Sequence[HitExplanation]) -> Iterable[str]:
    for hit in hits:
        found = next((each for each in hit.terms if each.term == term), None)
        yield f"{found.score:.2f} ({found.tf})" if found else ""


def _collapses(explanation: Explanation) -> Table:
    table = _table("Collapsed", ("chunk", "why"), ("its rank", "stands in", "resemblance"))
    for made in explanation.collapses:
        table.add_row(str(made.chunk_id), made.reason, str(made.rank), str(made.into), number(made.resemblance))
    return table
