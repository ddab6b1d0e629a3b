"""Segments made in several processes are those made in one, and no process outlives its work."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from app.ingest import cores
from app.lexical.segments import Segment
from app.records import NO_WORDS, WordList
from app.settings import ROOT

WORDS = WordList("cores", ("黛峰烘豆机",), ("the",))


@pytest.fixture(autouse=True)
def _small_batches_in_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "POOL_FROM_CHARS", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def batches(n: int = 5) -> Iterator[Mapping[int, str]]:
    for batch in range(n):
        yield {
            i: f"第{i}台黛峰烘豆机 roasts the beans of batch {batch}." for i in range(batch * 10 + 9, batch * 10, -1)
        }


def plain(segment: Segment) -> object:
    arrays = (segment.chunks.chunk_ids, segment.chunks.lengths, *(segment.postings.starts, segment.postings.ordinals))
    return segment.postings.terms, [array.tolist() for array in (*arrays, segment.postings.frequencies)]


def children() -> set[int]:
    """The processes that this one started and that still run."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return {int(pid) for pid in found if running(Path(f"/proc/{pid}"), b"spawn_main")}


def test_several_processes_make_what_one_makes_in_the_same_order() -> None:
    one = [plain(cores.segment(batch, WORDS)) for batch in batches()]
    assert [plain(segment) for segment in cores.segments(batches(), WORDS)] == one


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_and_one_batch_need_no_process(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cores, "ProcessPoolExecutor")
    assert len(list(cores.segments(batches(n), NO_WORDS))) == n


def test_small_batches_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "POOL_FROM_CHARS", 1_000_000)
    monkeypatch.delattr(cores, "ProcessPoolExecutor")
    assert len(list(cores.segments(batches(), NO_WORDS))) == 5


def test_a_chunk_without_tokens_is_a_chunk_of_no_length() -> None:
    made = cores.segment({2: "。", 1: ""}, NO_WORDS)
    assert (made.chunks.chunk_ids.tolist(), made.chunks.lengths.tolist(), made.postings.terms) == ([1, 2], [0, 0], [])


def test_where_processes_die_the_work_is_done_here() -> None:
    made = []
    for segment in cores.segments(batches(8), WORDS):
        made.append(plain(segment))
        for pid in children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert made == [plain(cores.segment(batch, WORDS)) for batch in batches(8)]


def test_processes_end_where_the_work_is_left() -> None:
    before = children()
    with closing(cores.segments(batches(), NO_WORDS)) as made:
        assert np.all(next(made).chunks.lengths > 0)
        assert children() - before
    assert children() == before


LEFT = """
import os, sys, time
from app.ingest import cores

if __name__ == "__main__":
    os.cpu_count = lambda: 2
    cores.POOL_FROM_CHARS = 1
    made = cores.segments(({n: "some text"} for n in range(5)), cores.WordList(""))
    next(made)
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        print(file.read(), flush=True)
    time.sleep(60)
"""


def test_processes_end_with_the_one_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "left.py"
    script.write_text(LEFT, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout
        started = [Path(f"/proc/{pid}") for pid in process.stdout.readline().split()]
        assert len(started) >= 2
        process.kill()
    deadline = time.monotonic() + 20
    while any(map(running, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(running, started))


def running(place: Path, command: bytes = b"") -> bool:
    """Whether a process is there; a dead one that nobody waited for has no command line."""
    try:
        return command in (line := (place / "cmdline").read_bytes()) and bool(line)
    except (FileNotFoundError, ProcessLookupError):
        return False
