"""Small to big: let each hit grow to a passage of its document, within a budget of tokens.

Best first, a hit takes in the other hits of its own section as long as the whole stretch of text, from the first to
the last, stays within the budget. Then it grows by the next chunk before or after: those of its section first, then
those that are hits, then the nearer one, then the following one. It ends where nothing more fits, at the document's
borders, and where a better passage begins. A hit inside a better one's passage is merged into it, so that no chunk is
returned twice, and less than `top_k` passages may be. A chunk larger than the budget stays as it is. Neighbouring
chunks may overlap: a passage is cut from the document's content, so it holds nothing twice.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from app.db.windows import Window
from app.lexical.lengths import token_marks, whole_tokens
from app.records import Collapse, Hit, Passage, Picked


def passages(picked: Picked, windows: Mapping[int, Window], budget: int) -> Picked:
    """The hits as passages of at most `budget` tokens each, as they are where that is 0. `windows` by chunk id."""
    if not budget:
        return picked
    part_of: dict[int, int] = {}
    grown: dict[int, Passage] = {}
    ids = [hit.chunk_id for hit in picked.hits]
    for hit in picked.hits:
        if hit.chunk_id not in part_of:
            passage = _grown(hit, _Room(windows[hit.chunk_id], budget, part_of), ids)
            grown[hit.chunk_id] = passage
            part_of |= dict.fromkeys(passage.chunk_ids, hit.chunk_id)
    merged = {i: Collapse(into) for i, into in part_of.items() if i != into}
    moved = {i: replace(c, into=part_of[c.into]) for i, c in picked.collapses.items()}
    return Picked(_hits(picked.hits, grown, part_of), merged | moved)


def _hits(hits: Sequence[Hit], grown: Mapping[int, Passage], part_of: Mapping[int, int]) -> tuple[Hit, ...]:
    """Those that were not merged, with what the merged ones were also found in."""
    kept = [hit for hit in hits if hit.chunk_id in grown]
    also = {i: tuple(f for h in hits if part_of[h.chunk_id] == i for f in h.also_found_in) for i in grown}
    return tuple(
        replace(hit, rank=rank, passage=grown[hit.chunk_id], also_found_in=also[hit.chunk_id])
        for rank, hit in enumerate(kept, 1)
    )


class _Room:
    """Where a hit's passage may grow: its window but for the chunks that are `taken`, within the budget."""

    def __init__(self, window: Window, budget: int, taken: Container[int]) -> None:
        self.chunks = window.chunks
        self._window, self._budget, self._taken = window, budget, taken
        self._marks = token_marks(window.text)

    def fits(self, low: int, high: int) -> bool:
        """Whether the chunks from index `low` to `high` are there, free, and within the budget together."""
        if not 0 <= low <= high < len(self.chunks) or self._tokens(low, high) > self._budget:
            return False
        return not any(chunk.chunk_id in self._taken for chunk in self.chunks[low : high + 1])

    def passage(self, low: int, high: int) -> Passage:
        """The chunks from index `low` to `high` with all that stands between them."""
        start, end = self.chunks[low].start_char, self.chunks[high].end_char
        text = self._window.text[start - self._window.start_char : end - self._window.start_char]
        ids = tuple(chunk.chunk_id for chunk in self.chunks[low : high + 1])
        return Passage(start, end, text, self._tokens(low, high), ids)

    def _tokens(self, low: int, high: int) -> int:
        start, end = self.chunks[low].start_char, self.chunks[high].end_char
        return whole_tokens(
            int(self._marks[end - self._window.start_char] - self._marks[start - self._window.start_char])
        )


def _grown(hit: Hit, room: _Room, hit_ids: Sequence[int]) -> Passage:
    at = {chunk.chunk_id: n for n, chunk in enumerate(room.chunks)}
    low = high = at[hit.chunk_id]
    for n in (at[i] for i in hit_ids if i in at and room.chunks[at[i]].section == hit.section):
        if room.fits(min(low, n), max(high, n)):
            low, high = min(low, n), max(high, n)

    def order(n: int) -> tuple[bool, bool, int, bool]:
        chunk = room.chunks[n]
        seed = at[hit.chunk_id]
        return chunk.section != hit.section, chunk.chunk_id not in hit_ids, abs(n - seed), n < seed

    while sides := [n for n in (low - 1, high + 1) if room.fits(min(low, n), max(high, n))]:
        best = min(sides, key=order)
        low, high = min(low, best), max(high, best)
    return room.passage(low, high)
