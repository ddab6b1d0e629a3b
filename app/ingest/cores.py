"""Texts to segments on every core. Threads would take turns: most of a tokenizer holds Python's lock."""

import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context, parent_process

from app.lexical.segments import Builder, Segment
from app.lexical.tokens import tokens
from app.records import WordList

_LOG = logging.getLogger(__name__)
POOL_FROM_CHARS = 1_000_000  # of each of several batches: processes start in half a second, in which a core does that
_PROCESSES_MAX = 8

Texts = Mapping[int, str]  # by chunk id


def segment(texts: Texts, words: WordList) -> Segment:
    """Tokenise and index chunks, one after the other: of each token only its number is kept."""
    builder = Builder()
    for chunk_id in sorted(texts):
        builder.add(chunk_id, tokens(texts[chunk_id], words))
    return builder.segment()


def segments(batches: Iterable[Texts], words: WordList) -> Generator[Segment]:
    """One segment for each batch, in order. Close it where it is left before the end."""
    batches = iter(batches)
    first = list(islice(batches, 2))
    processes = min(os.cpu_count() or 1, _PROCESSES_MAX)
    if processes == 1 or len(first) < 2 or sum(map(len, first[0].values())) < POOL_FROM_CHARS:
        yield from (segment(batch, words) for batch in chain(first, batches))
        return
    # spawned: a fork would copy the locks that other threads hold
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin)
    try:
        yield from _pooled(pool, chain(first, batches), words, processes + 1)
    finally:
        pool.shutdown(cancel_futures=True)


def _pooled(pool: ProcessPoolExecutor, batches: Iterable[Texts], words: WordList, ahead: int) -> Iterator[Segment]:
    waiting: deque[tuple[Texts, Future[Segment] | None]] = deque()
    for batch in batches:
        waiting.append((batch, _submitted(pool, batch, words) if waiting else None))  # the first here, as they start
        if len(waiting) == ahead:
            yield _result(*waiting.popleft(), words)
    while waiting:
        yield _result(*waiting.popleft(), words)


def _submitted(pool: ProcessPoolExecutor, batch: Texts, words: WordList) -> Future[Segment] | None:
    try:
        return pool.submit(segment, batch, words)
    except (BrokenProcessPool, OSError) as e:
        _LOG.warning("cores.lost error=%s", type(e).__name__)
        return None


def _result(batch: Texts, future: Future[Segment] | None, words: WordList) -> Segment:
    """What a process made of the batch; where it died, for want of memory perhaps, it is made here."""
    try:
        return future.result() if future else segment(batch, words)
    except BrokenProcessPool:
        return segment(batch, words)


def _begin() -> None:
    """Of a process: leave Ctrl-C to the one that started it, and end with it even when that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := parent_process():
        parent.join()
    os._exit(1)
