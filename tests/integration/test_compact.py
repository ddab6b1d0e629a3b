"""Compaction keeps segments few and changes nothing that a search sees, whatever happens meanwhile."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import IsolationLevel

from app.db import collections, lexical, postings
from app.db.pool import Db
from app.db.postings import SegmentState
from app.db.segment_cache import SegmentCache
from app.db.sql import statement
from app.errors import Conflict
from app.ingest import compact, pipeline, store
from app.ingest.compact import TIER
from app.lexical import segments
from app.lexical.index import Index, Part, Scored
from app.lexical.segments import NOTHING
from app.records import ModelIdentity, Source, Space, Splitting
from app.resources import Resources

THEN = datetime(2026, 1, 1, tzinfo=UTC)
QUESTION = ["w1", "w2", "w30", "rare"]


def state(segment_id: int, chunks: int, dead: int = 0, tokenizer: str = "t") -> SegmentState:
    return SegmentState(segment_id, THEN, chunks, dead, tokenizer)


@pytest.fixture
def collection_id(resources: Resources) -> int:
    with resources.database.write() as connection:
        return collections.ensure(connection, "k", Space(0, ModelIdentity("none", "none", 3, "", "")), Splitting()).id


def write(resources: Resources, collection_id: int, ids: Sequence[int]) -> None:
    """A segment of chunks whose words follow from their ids."""
    with resources.database.write() as connection:
        postings.add(connection, collection_id, segments.build({i: words(i) for i in ids}), "t")


def words(chunk_id: int) -> list[str]:
    return [f"w{(chunk_id * k) % 37}" for k in range(1, 2 + chunk_id % 9)] + ["rare"] * (chunk_id % 11 == 0)


def bury(resources: Resources, collection_id: int, ids: Sequence[int]) -> None:
    with resources.database.write() as connection:
        postings.bury(connection, collection_id, ids)


def scores(resources: Resources, collection_id: int) -> dict[int, float]:
    with resources.database.read() as connection:
        return scores_in(connection, collection_id, SegmentCache(0))


def scores_in(connection: Db, collection_id: int, cache: SegmentCache) -> dict[int, float]:
    scored = lexical.score(connection, collection_id, QUESTION, cache, k1=1.5, b=0.75)
    ids = scored.top(10_000)
    return dict(zip(ids.tolist(), scored.of(ids).tolist(), strict=True))


def fresh(live: Sequence[int]) -> dict[int, float]:
    """Scores of an index that never held anything else."""
    built = segments.build({i: words(i) for i in live})
    index, found = Index([Part(built.chunks)]), dict(built.postings)
    scored = Scored(index, QUESTION, {t: index.term(t, [found.get(t, NOTHING)], k1=1.5, b=0.75) for t in QUESTION}, 1.5)
    ids = scored.top(10_000)
    return dict(zip(ids.tolist(), scored.of(ids).tolist(), strict=True))


def states(resources: Resources, collection_id: int) -> list[tuple[int, int]]:
    """(chunks, dead) of every segment."""
    with resources.database.read() as connection:
        return [(s.chunks, s.dead) for s in postings.segments(connection, collection_id)]


def count(resources: Resources, table: str) -> int:
    with resources.database.read() as connection:
        (row,) = connection.execute(f"SELECT count(*) FROM {table}".encode())  # noqa: S608
    return int(row[0])


# --- what is chosen ---------------------------------------------------------------------------------------------------


def test_segments_of_one_tokenizer_are_merged_and_none_of_two() -> None:
    mixed = [state(n, 1, tokenizer="old" if n < TIER else "new") for n in range(2 * TIER - 1)]
    assert compact.works(mixed) == [compact.Work(tuple(range(TIER)), "old", TIER)]
    assert compact.works(mixed[1:]) == []


def test_a_segment_of_tombstones_is_written_anew_and_a_large_one_not_for_each_deletion() -> None:
    sizes = [state(1, 100, 25), state(2, 100, 26), state(3, 1), state(4, 1_000_000, 200_000)]
    assert compact.works(sizes) == [compact.Work((2,), "t", 74)]


@given(st.lists(st.integers(1, 100), max_size=300))
def test_segments_stay_few_and_a_chunk_is_rewritten_once_per_tier(sizes: list[int]) -> None:
    held: dict[int, int] = {}
    written = 0
    for n, size in enumerate(sizes):
        held[n] = size
        while works := compact.works([state(i, chunks) for i, chunks in held.items()]):
            merged = sum(held.pop(i) for i in works[0].segment_ids)
            written += merged
            held[n] = merged
    tiers = compact.tier(max(sum(sizes), 1)) + 1
    assert len(held) < TIER * tiers
    assert written <= sum(sizes) * (tiers + 1)


# --- what a merge does ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merge_bytes", [1, 1 << 22])
def test_a_merge_scores_as_a_fresh_index(
    resources: Resources, collection_id: int, merge_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "_MERGE_BYTES", merge_bytes)
    for start in range(1, 161, 20):
        write(resources, collection_id, range(start, start + 20))
    bury(resources, collection_id, [3, 21, 22, 155])
    write(resources, collection_id, [22, 3])  # enabled again: ids that interleave with the others'
    live = sorted(set(range(1, 161)) - {21, 155})
    assert scores(resources, collection_id) == pytest.approx(fresh(live))
    assert compact.merge_all(collection_id, resources) == 9
    assert states(resources, collection_id) == [(158, 0)]
    assert scores(resources, collection_id) == pytest.approx(fresh(live))
    with resources.database.read() as connection:
        rows = connection.execute("SELECT term, ordinals, frequencies FROM lexical_posting ORDER BY term").fetchall()
    expected = segments.build({i: words(i) for i in live}).postings
    assert rows == [(t, p.ordinals.tolist(), p.frequencies.tolist()) for t, p in sorted(expected, key=lambda x: x[0])]
    assert compact.merge_all(collection_id, resources) == compact.compact(collection_id, resources) == 0


def test_a_segment_without_live_chunks_is_dropped(resources: Resources, collection_id: int) -> None:
    write(resources, collection_id, [1, 2])
    bury(resources, collection_id, [1, 2])
    assert compact.compact(collection_id, resources) == 1
    assert count(resources, "lexical_segment") == count(resources, "lexical_posting") == 0


def test_what_is_buried_during_a_merge_stays_buried(
    resources: Resources, collection_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(resources, collection_id, range(1, 21))
    write(resources, collection_id, range(21, 41))
    bury(resources, collection_id, [2])

    def meanwhile() -> None:
        bury(resources, collection_id, [2, 30])
        write(resources, collection_id, [41])

    with before_the_swap(meanwhile, monkeypatch):
        compact.merge_all(collection_id, resources)
    assert sorted(states(resources, collection_id)) == [(1, 0), (39, 1)]
    assert scores(resources, collection_id) == pytest.approx(fresh([i for i in range(1, 42) if i not in (2, 30)]))


@contextmanager
def before_the_swap(act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    copy_merged = compact._copy_merged

    def and_act(*arguments: Any) -> None:
        copy_merged(*arguments)
        act()

    with monkeypatch.context() as patch:
        patch.setattr(compact, "_copy_merged", and_act)
        yield


def test_a_search_under_way_still_finds_all_of_what_was_replaced(resources: Resources, collection_id: int) -> None:
    for start in range(1, 41, 5):
        write(resources, collection_id, range(start, start + 5))
    expected = fresh(range(1, 41))
    with resources.database.read() as snapshot:
        state = postings.segments(snapshot, collection_id)
        compact.compact(collection_id, resources)
        assert count(resources, "lexical_segment") == 1
        scored = lexical.score_in(state, snapshot, collection_id, QUESTION, SegmentCache(0), k1=1.5, b=0.75)
        ids = scored.top(100)
        assert dict(zip(ids.tolist(), scored.of(ids).tolist(), strict=True)) == pytest.approx(expected)


def test_two_compactions_at_once_do_the_work_once(
    resources: Resources, collection_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(1, TIER + 1):
        write(resources, collection_id, [n])
    second: list[int] = []
    with before_the_swap(lambda: second.append(compact.compact(collection_id, resources)), monkeypatch):
        assert compact.compact(collection_id, resources) == TIER
    assert second == [0]
    assert states(resources, collection_id) == [(TIER, 0)]


def test_a_large_segment_is_deleted_piecemeal_and_by_the_next_compaction_where_one_was_cut_off(
    resources: Resources, collection_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(resources, collection_id, range(1, 41))
    write(resources, collection_id, range(41, 44))
    with resources.database.write() as connection:  # a compaction that died before it had deleted anything
        first, _ = postings.segments(connection, collection_id)
        postings.retire(connection, collection_id, [first.id])
    assert scores(resources, collection_id) == pytest.approx(fresh([41, 42, 43]))
    monkeypatch.setattr(compact, "INLINE_CHUNKS", 2)
    monkeypatch.setattr(compact, "_PURGE_POSTINGS", 3)
    bury(resources, collection_id, [1, 41])  # of a retired segment too
    compact.tidy(collection_id, resources)
    compact.finish()
    assert states(resources, collection_id) == [(2, 0)]
    assert count(resources, "lexical_segment") == 1
    assert scores(resources, collection_id) == pytest.approx(fresh([42, 43]))


def test_what_is_large_is_merged_behind_the_writers_back(
    resources: Resources, collection_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "INLINE_CHUNKS", 2 * TIER)
    at = []
    replace = compact._replace

    def noted(*arguments: Any) -> bool:
        at.append(threading.current_thread())
        return replace(*arguments)

    monkeypatch.setattr(compact, "_replace", noted)
    for n in range(TIER):
        write(resources, collection_id, [n + 1])
        compact.tidy(collection_id, resources)
    assert at == [threading.current_thread()]
    for n in range(TIER, 3 * TIER):
        write(resources, collection_id, range(100 * n, 100 * n + 10))
    compact.tidy(collection_id, resources)
    compact.finish()
    assert len(at) > 1
    assert threading.current_thread() not in at[1:]
    assert len(states(resources, collection_id)) < TIER


def test_a_failing_compaction_does_not_make_a_written_document_fail(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> int:
        raise Conflict("somebody else is at it")

    monkeypatch.setattr(compact, "compact", broken)
    outcome = pipeline.ingest(Source("a.md", "A", "text/plain", "A text about kettles."), "k", resources)
    assert outcome.outcome == "added"


def test_many_documents_leave_few_segments(resources: Resources) -> None:
    for n in range(70):
        text = f"Note {n}: kettle number {n} is in hall {n % 7}."
        pipeline.ingest(Source(f"{n}.txt", "", "text/plain", text), "k", resources)
    assert count(resources, "lexical_segment") < 2 * TIER
    assert compact.compact(pipeline.open_collection("k", resources).id, resources) == 0


def test_what_is_deleted_and_disabled_leaves_no_dead_segments(resources: Resources) -> None:
    ids = [
        pipeline.ingest(Source(f"{n}.txt", "", "text/plain", f"A text about kettle {n}."), "k", resources).document_id
        for n in range(2)
    ]
    assert ids[0] is not None
    for _ in range(5):
        store.set_state(ids[0], "disabled", resources)
        store.set_state(ids[0], "active", resources)
    assert count(resources, "lexical_tombstone") == 0
    assert count(resources, "lexical_segment") == 2
    store.delete(ids[0], resources)
    assert count(resources, "lexical_segment") == 1


# --- tombstones, and what a search keeps of them ----------------------------------------------------------------------


def test_a_chunk_is_buried_where_it_stands_and_counted_once(resources: Resources, collection_id: int) -> None:
    write(resources, collection_id, [2, 4, 6, 8])
    write(resources, collection_id, [3, 5, 7])
    bury(resources, collection_id, [1, 4, 5, 9])
    bury(resources, collection_id, [4, 7, 100])
    bury(resources, collection_id, [])
    assert states(resources, collection_id) == [(4, 1), (3, 2)]
    assert scores(resources, collection_id) == pytest.approx(fresh([2, 3, 6, 8]))


def test_a_search_reads_only_what_has_changed(resources: Resources, collection_id: int) -> None:
    cache = SegmentCache(1_000_000)
    write(resources, collection_id, range(1, 30))
    write(resources, collection_id, range(30, 60))
    with resources.database.read() as connection:
        scores_in(connection, collection_id, cache)
    assert statements(resources, collection_id, cache) == ["segments"]
    bury(resources, collection_id, [31])
    assert statements(resources, collection_id, cache) == ["segments", "tombstones"]
    write(resources, collection_id, [60])
    assert statements(resources, collection_id, cache) == ["segments", "chunks", "of_terms"]
    assert statements(resources, collection_id, cache) == ["segments"]
    with resources.database.read() as connection:
        live = [i for i in range(1, 61) if i != 31]
        assert scores_in(connection, collection_id, cache) == pytest.approx(fresh(live))


def statements(resources: Resources, collection_id: int, cache: SegmentCache) -> list[str]:
    """The names of the statements that a search runs."""
    with mock.patch.object(postings, "statement", side_effect=statement) as asked:
        with resources.database.read() as connection:
            scores_in(connection, collection_id, cache)
        return [call.args[1] for call in asked.call_args_list]


def test_an_older_snapshot_keeps_its_own_tombstones_beside_newer_ones(
    resources: Resources, collection_id: int, database_url: str
) -> None:
    cache = SegmentCache(1_000_000)
    write(resources, collection_id, range(1, 30))
    bury(resources, collection_id, [1])
    with psycopg.connect(database_url) as older:
        older.isolation_level = IsolationLevel.REPEATABLE_READ
        before = scores_in(older, collection_id, cache)
        bury(resources, collection_id, [2, 11, 22])
        with resources.database.read() as newer:
            assert scores_in(newer, collection_id, cache) == pytest.approx(
                fresh([i for i in range(1, 30) if i not in (1, 2, 11, 22)])
            )
            assert scores_in(older, collection_id, cache) == before == pytest.approx(fresh(range(2, 30)))


def test_a_segment_with_a_known_id_but_another_age_is_another_one(resources: Resources, collection_id: int) -> None:
    cache = SegmentCache(1_000_000)
    write(resources, collection_id, range(1, 30))
    with resources.database.read() as connection:
        scores_in(connection, collection_id, cache)
    with resources.database.write() as connection:  # as after a restore, or on a replica that took over
        connection.execute("UPDATE lexical_segment SET created_at = now(), lengths = array_fill(7, ARRAY[29])")
    with resources.database.read() as connection:
        scored = lexical.score(connection, collection_id, QUESTION, cache, k1=1.5, b=0.75)
    assert scored.statistics.mean_length == 7
    assert not np.isnan(scored.of(np.array([1]))).any()
