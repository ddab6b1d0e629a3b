"""What the versions of a document added and removed, against the texts that were ingested."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db import versions
from app.errors import InvalidInput, NotFound
from app.ingest import history, pipeline, store
from app.ingest.history import Changes, net
from app.records import ChunkChange, DocumentVersion, Source
from app.resources import Resources

LONG = 30  # sentences: sections that are shorter would share a chunk
PARTS = {name: f"# Part {name}\n\n{f'What part {name} says of the kettle. ' * LONG}\n\n" for name in "abcdef"}


def written(resources: Resources, parts: str, **fields: str) -> int:
    """Ingest a document of these parts, each a chunk. Returns its id."""
    text = "".join(PARTS[name] for name in parts)
    made = pipeline.ingest(Source("kettle.md", "Kettle", "text/markdown", text), "k", resources)
    if fields:
        source = replace(Source("kettle.md", "Kettle", "text/markdown", text), **fields)  # type: ignore[arg-type]
        made = pipeline.ingest(source, "k", resources)
    assert made.document_id is not None
    return made.document_id


def changed(resources: Resources, document_id: int, since: int | None = None, until: int | None = None) -> Changes:
    with resources.database.read() as connection:
        return history.changes(connection, document_id, since=since, until=until)


def kept(resources: Resources, document_id: int) -> list[DocumentVersion]:
    with resources.database.read() as connection:
        return history.of_document(connection, document_id)[1]


def texts(changes: Changes, kind: str) -> list[str]:
    return sorted(chunk.text.split()[2] for chunk in changes.chunks if chunk.kind == kind)


def test_between_any_two_versions_the_parts_that_differ_are_listed(resources: Resources) -> None:
    series = ("abc", "abd", "dba", "ef", "abcdef")
    for parts in series:
        document_id = written(resources, parts)
    for first, last in [(1, 2), (2, 3), (1, 3), (3, 4), (2, 5), (1, 5)]:
        before, after = set(series[first - 1]), set(series[last - 1])
        found = changed(resources, document_id, first, last)
        assert texts(found, "added") == sorted(after - before)
        assert texts(found, "removed") == sorted(before - after)
    assert [(v.version, v.chunks) for v in kept(resources, document_id)] == [(5, 6), (4, 2), (3, 3), (2, 3), (1, 3)]


def test_a_change_has_its_section_and_line(resources: Resources) -> None:
    written(resources, "abc")
    [removed, added] = changed(resources, written(resources, "adc")).chunks
    assert (removed.kind, removed.section, removed.line) == ("removed", "Part b", 5)
    assert (added.kind, added.section, added.line) == ("added", "Part d", 5)


def test_what_a_version_changed_is_named(resources: Resources) -> None:
    written(resources, "ab")
    document_id = written(resources, "ab", title="The kettle")
    newest = kept(resources, document_id)[0]
    assert (newest.title, newest.changed, newest.added, newest.removed) == ("The kettle", ["title"], 0, 0)
    assert changed(resources, document_id) == Changes(1, 2, ("title",), ())


def test_the_same_again_is_no_version(resources: Resources) -> None:
    written(resources, "ab")
    assert len(kept(resources, written(resources, "ab"))) == 1


def test_as_many_versions_are_kept_as_the_setting_says(resources: Resources) -> None:
    few = replace(resources, settings=resources.settings.model_copy(update={"document_versions": 2}))
    for parts in ("a", "b", "c", "d"):
        document_id = written(few, parts)
    assert [version.version for version in kept(few, document_id)] == [4, 3]
    assert texts(changed(few, document_id), "removed") == ["c"]
    with pytest.raises(NotFound, match="versions 3 to 4 are kept, versions 2 to 4 were asked for"):
        changed(few, document_id, 2)
    none = replace(resources, settings=resources.settings.model_copy(update={"document_versions": 0}))
    document_id = written(none, "e")
    with pytest.raises(NotFound, match="versions 3 to 4 are kept"):
        changed(none, document_id)


@pytest.mark.parametrize(("since", "until"), [(2, 2), (2, 1), (1, 9), (9, None), (None, 1)])
def test_no_range_of_versions_is_refused_with_its_name(
    resources: Resources, since: int | None, until: int | None
) -> None:
    written(resources, "a")
    document_id = written(resources, "b")
    with pytest.raises((InvalidInput, NotFound), match=r"since|until|kept"):
        changed(resources, document_id, since, until)


def test_a_document_of_one_version_says_so(resources: Resources) -> None:
    document_id = written(resources, "a")
    with pytest.raises(NotFound, match="one version only"):
        changed(resources, document_id)


def test_a_deleted_document_takes_its_history_with_it(resources: Resources, database_url: str) -> None:
    written(resources, "ab")
    store.delete(written(resources, "cd"), resources)
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM document_version").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM document_change").fetchone() == (0,)


@given(st.lists(st.text("abcd", max_size=6), min_size=2, max_size=6))
def test_net_changes_are_the_difference_of_the_first_and_the_last(series: list[str]) -> None:
    listed: list[ChunkChange] = []
    for version, (before, after) in enumerate(pairwise(map(Counter, series)), 2):
        for kind, more in (("removed", before - after), ("added", after - before)):
            for n, text in enumerate(sorted(more.elements())):
                listed.append(ChunkChange(kind, version, n, "", text, text, None, None))  # type: ignore[arg-type]
    left = net(listed)
    first, last = Counter(series[0]), Counter(series[-1])
    assert Counter(c.text for c in left if c.kind == "added") == last - first
    assert Counter(c.text for c in left if c.kind == "removed") == first - last


def test_a_version_that_failed_to_be_written_leaves_no_trace(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = written(resources, "ab")

    def broken(*_: object) -> None:
        raise RuntimeError("cut off")

    monkeypatch.setattr(versions, "trim", broken)
    with pytest.raises(RuntimeError, match="cut off"):
        written(resources, "cd")
    monkeypatch.undo()
    assert [version.version for version in kept(resources, document_id)] == [1]
    assert texts(changed(resources, written(resources, "cd")), "removed") == ["a", "b"]
