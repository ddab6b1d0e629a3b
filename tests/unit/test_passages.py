"""Small to big: properties of passages over any documents, hits and budgets."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.windows import Neighbour, Window
from app.lexical.lengths import estimated_tokens, token_marks
from app.query import expand
from app.records import Collapse, FoundIn, Hit, Picked


@dataclass(frozen=True)
class Document:
    id: int
    content: str
    chunks: tuple[Neighbour, ...]

    def window(self) -> Window:
        return Window(self.id, 0, self.content, self.chunks)


@st.composite
def documents(draw: st.DrawFn, id_: int = 1) -> Document:
    """Chunks one after the other, with gaps or overlaps between them, each in a section of two."""
    starts, ends, sections = [0], [], []
    for length in draw(st.lists(st.integers(4, 30), min_size=1, max_size=8)):
        ends.append(starts[-1] + length)
        sections.append(draw(st.sampled_from(["A", "A > B"])))
        starts.append(ends[-1] + draw(st.integers(-2, 3)))
    alphabet = st.sampled_from("ab 保修\n")
    content = draw(st.text(alphabet, min_size=ends[-1], max_size=ends[-1]))
    places = zip(starts, ends, sections, strict=False)
    return Document(id_, content, tuple(Neighbour(100 * id_ + n, *place) for n, place in enumerate(places)))


def hit(document: Document, chunk: Neighbour, rank: int) -> Hit:
    text = document.content[chunk.start_char : chunk.end_char]
    place = (document.id, "s", "t", chunk.section, chunk.start_char, chunk.end_char)
    return Hit(rank, chunk.chunk_id, *place, text, "", 0.5, 1.0, 1, 1, 1.0, 1.0, 1.0, 0.5, 0.5, None, 1.0)


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[Document], Picked]:
    made = [draw(documents(1)), draw(documents(2))]
    every = [(document, chunk) for document in made for chunk in document.chunks]
    chosen = draw(st.permutations(every))[: draw(st.integers(1, 6))]
    return made, Picked(tuple(hit(*each, rank) for rank, each in enumerate(chosen, 1)))


def joined(made: list[Document], picked: Picked, budget: int) -> Picked:
    windows = {chunk.chunk_id: document.window() for document in made for chunk in document.chunks}
    return expand.passages(picked, windows, budget)


def runs(made: Picked) -> dict[int, tuple[int, ...]]:
    return {hit.chunk_id: hit.passage.chunk_ids for hit in made.hits if hit.passage}


@given(searches(), st.integers(1, 60))
def test_passages_are_whole_chunks_cut_from_one_document(case: tuple[list[Document], Picked], budget: int) -> None:
    made, picked = case
    for found in joined(made, picked, budget).hits:
        passage = found.passage
        assert passage is not None
        document = made[found.document_id - 1]
        assert passage.text == document.content[passage.start_char : passage.end_char]
        ids = [chunk.chunk_id for chunk in document.chunks]
        first = ids.index(passage.chunk_ids[0])
        assert list(passage.chunk_ids) == ids[first : first + len(passage.chunk_ids)]
        assert passage.start_char == document.chunks[first].start_char
        assert passage.end_char == document.chunks[first + len(passage.chunk_ids) - 1].end_char
        assert found.chunk_id in passage.chunk_ids
        assert passage.tokens == estimated_tokens(passage.text)
        assert passage.tokens <= budget or passage.chunk_ids == (found.chunk_id,)


@given(searches(), st.integers(1, 60))
def test_every_hit_is_in_one_passage_at_the_best_ones_rank(case: tuple[list[Document], Picked], budget: int) -> None:
    made, picked = case
    result = joined(made, picked, budget)
    every = [chunk_id for ids in runs(result).values() for chunk_id in ids]
    assert len(every) == len(set(every))
    order = [found.chunk_id for found in picked.hits]
    best = [min(order.index(i) for i in ids if i in order) for ids in runs(result).values()]
    assert [order[n] for n in best] == [found.chunk_id for found in result.hits]
    assert best == sorted(best)
    assert [found.rank for found in result.hits] == list(range(1, len(result.hits) + 1))
    assert set(order) <= set(every)
    parts = {i: Collapse(into) for into, ids in runs(result).items() for i in ids if i != into}
    assert result.collapses == parts


@given(searches(), st.integers(1, 60))
def test_no_passage_could_have_grown_further(case: tuple[list[Document], Picked], budget: int) -> None:
    made, picked = case
    result = joined(made, picked, budget)
    taken: set[int] = set()
    for found in result.hits:
        assert found.passage is not None
        document = made[found.document_id - 1]
        marks, ids = token_marks(document.content), [chunk.chunk_id for chunk in document.chunks]
        low, high = ids.index(found.passage.chunk_ids[0]), ids.index(found.passage.chunk_ids[-1])
        for more in (low - 1, high + 1):
            if 0 <= more < len(ids) and ids[more] not in taken:
                wider = document.chunks[max(high, more)].end_char, document.chunks[min(low, more)].start_char
                assert marks[wider[0]] - marks[wider[1]] > 100 * budget
        taken |= set(found.passage.chunk_ids)


def plain(sections: str, chars: int = 10) -> Document:
    """One chunk of so many letters for each section, a space between."""
    starts = [n * (chars + 1) for n in range(len(sections))]
    chunks = tuple(Neighbour(100 + n, s, s + chars, sections[n]) for n, s in enumerate(starts))
    return Document(1, " ".join(["保" * chars] * len(sections)), chunks)


def passages(sections: str, order: list[int], budget: int) -> dict[int, tuple[int, ...]]:
    document = plain(sections)
    picked = Picked(tuple(hit(document, document.chunks[n], rank) for rank, n in enumerate(order, 1)))
    return {i - 100: tuple(n - 100 for n in ids) for i, ids in runs(joined([document], picked, budget)).items()}


@pytest.mark.parametrize(
    ("sections", "order", "budget", "expected"),
    [
        ("AAA", [1], 8, {1: (1,)}),  # one chunk is 7.5 tokens
        ("AAA", [1], 16, {1: (1, 2)}),  # the following before the preceding
        ("AAAAA", [2], 25, {2: (1, 2, 3)}),  # then the nearer
        ("AABBB", [1], 16, {1: (0, 1)}),  # its own section before the following
        ("ABBBB", [0], 25, {0: (0, 1, 2)}),  # but another one rather than none
        ("AAAAA", [0, 3], 33, {0: (0, 1, 2, 3)}),  # two hits of one section are one passage
        ("AABAA", [0, 3], 25, {0: (0, 1, 2), 3: (3, 4)}),  # not where the budget ends between them
        ("AAAAA", [1, 0], 16, {1: (0, 1)}),  # a neighbour that is a hit before one that is none
        ("AAAAA", [2, 3, 1], 25, {2: (1, 2, 3)}),
        ("AAAAA", [0, 1, 2, 3, 4], 16, {0: (0, 1), 2: (2, 3), 4: (4,)}),
        ("AAAAA", [2, 4], 1_000, {2: (0, 1, 2, 3, 4)}),
    ],
)
def test_the_rule(sections: str, order: list[int], budget: int, expected: dict[int, tuple[int, ...]]) -> None:
    assert passages(sections, order, budget) == expected


def test_what_a_merged_hit_was_also_found_in_goes_to_the_passage() -> None:
    document = plain("AA")
    elsewhere = FoundIn(3, 900, 9, "s", "", 0, 10, 1.0)
    first, second = (hit(document, chunk, rank) for rank, chunk in enumerate(document.chunks, 1))
    picked = Picked((first, replace(second, also_found_in=(elsewhere,))), {900: Collapse(101, 1.0)})
    result = joined([document], picked, 100)
    assert [found.also_found_in for found in result.hits] == [(elsewhere,)]
    assert result.collapses == {101: Collapse(100), 900: Collapse(100, 1.0)}
