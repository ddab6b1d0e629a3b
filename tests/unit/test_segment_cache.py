"""The cache of decoded postings stays within its bytes and forgets what was not asked for longest."""

import threading
from dataclasses import dataclass

from app.db.segment_cache import _ENTRY_BYTES, SegmentCache


@dataclass(frozen=True)
class Thing:
    nbytes: int


def test_the_least_recently_used_goes_first() -> None:
    cache = SegmentCache(10_000)
    cache.put({n: Thing(2_400) for n in "abc"})  # of about 3,000 bytes each, with what an entry itself takes
    assert cache.get("abc").keys() == set("abc")
    cache.get("a")
    cache.put({"d": Thing(2_400)})
    assert cache.get("abcd").keys() == set("acd")
    assert cache.nbytes <= 10_000


def test_what_is_larger_than_the_cache_is_not_kept_and_displaces_nothing() -> None:
    cache = SegmentCache(10_000)
    cache.put({"small": Thing(100)})
    cache.put({"large": Thing(10_000), "small": Thing(200)})
    assert cache.get(["small", "large"]) == {"small": Thing(200)}
    cache = SegmentCache(0)
    cache.put({"small": Thing(0)})
    assert (cache.get(["small"]), cache.nbytes) == ({}, 0)


def test_threads_leave_the_count_of_bytes_right() -> None:
    cache = SegmentCache(50_000)

    def work(seed: int) -> None:
        for n in range(2_000):
            cache.put({(seed * n) % 97: Thing((seed * n) % 3_000)})
            cache.get([n % 97])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = list(cache.get(range(97)).values())
    assert cache.nbytes == sum(thing.nbytes for thing in kept) + len(kept) * _ENTRY_BYTES <= 50_000
