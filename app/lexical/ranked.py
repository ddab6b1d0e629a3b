"""The best of many sums: add up scores that stand in sorted lists, and find the highest without sorting them all.

Exact. Once the n-th best sum so far exceeds all that the longest lists can add, a place that stands in these alone
cannot be among the n best, so that they are looked up at the places that are left (MaxScore: Turtle and Flood, Query
evaluation: strategies and optimizations, 1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from app.records import Floats

Places = NDArray[np.signedinteger[Any]]

LOOKUP_COST = 16  # of one place in a list, in places of a list that is added whole
SMALL = 65_536  # up to so many places, all is added: looking for a way round takes longer (measured to 100,000)
_SLACK = 1 - 1e-9  # sums in another order differ by rounding
_HIGHEST, _PLACES, _VALUES = attrgetter("highest"), attrgetter("places"), attrgetter("values")


@dataclass(frozen=True, slots=True)
class Listed:
    """What one term adds: places (n,) int32 ascending, values (n,) float64 > 0, the highest of them."""

    places: NDArray[np.int32]
    values: Floats
    highest: float

    @property
    def nbytes(self) -> int:
        return self.places.nbytes + self.values.nbytes

    @property
    def costs(self) -> tuple[int, int]:
        """Of adding the list whole, and of looking up one place, in places added."""
        return len(self.places), LOOKUP_COST

    def at(self, places: Places) -> Floats:
        """The values at some places, 0 where there is none."""
        if not len(self.places):
            return np.zeros(len(places))
        sought = places.astype(np.int32)  # of another dtype, numpy would convert the whole list
        index = np.minimum(self.places.searchsorted(sought), len(self.places) - 1)
        return np.where(self.places[index] == sought, self.values[index], 0.0)

    def add_to(self, sums: Floats) -> None:
        np.add.at(sums, self.places, self.values)


@dataclass(frozen=True, slots=True)
class Everywhere:
    """What a term adds that stands in most places: values (size,) float64, 0 where it does not stand."""

    values: Floats
    highest: float

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @property
    def costs(self) -> tuple[int, int]:
        return len(self.values) // 6, 3

    def at(self, places: Places) -> Floats:
        return self.values[places]

    def add_to(self, sums: Floats) -> None:
        sums += self.values


Scores = Listed | Everywhere


def scores(places: NDArray[np.int32], values: Floats, size: int) -> Scores:
    """Values at ascending places, in the form that takes less memory and time."""
    highest = float(values.max(initial=0.0))
    if size <= SMALL or 2 * len(places) < size:
        return Listed(places, values, highest)
    everywhere = np.zeros(size)
    everywhere[places] = values
    return Everywhere(everywhere, highest)


def ordered(lists: list[Scores], size: int) -> list[Scores]:
    """In the order in which all sums over `size` places are made: where it matters, those that add most come first."""
    return lists if size <= SMALL else sorted(lists, key=_HIGHEST, reverse=True)


def best(lists: Sequence[Scores], size: int, n: int, banned: NDArray[np.bool_] | None) -> tuple[Places, Floats]:
    """At least the n places of the highest sums > 0 with their sums, ascending places; all of them that tie.

    lists: `ordered`. size: places count from 0 to size - 1. banned (size,): places that do not count.
    """
    if size > SMALL:
        return _best_of_many(lists, size, n, banned)
    sums = _sum(lists, size)
    if banned is not None:
        sums[banned] = -np.inf
    places = _reaching(sums, floor(sums, n))
    return places, sums[places]


def _best_of_many(
    lists: Sequence[Scores], size: int, n: int, banned: NDArray[np.bool_] | None
) -> tuple[Places, Floats]:
    rests = list(accumulate([each.highest for each in reversed(lists)], initial=0.0))[::-1]
    ends = accumulate([len(each.values) for each in lists])
    short = next((i for i, end in enumerate(ends) if end > size // 16), len(lists))
    sums, few = _sum_few(lists[:short], size, banned)
    seen: Places | None = few  # None: everywhere
    known = sums[few]
    for i in range(short, len(lists)):
        bar = floor(known, n) * _SLACK - rests[i]
        whole, lookup = lists[i].costs
        if bar > 0 and len(near := _reaching(known, bar)) * lookup < whole:
            places = near if seen is None else np.sort(seen[near])
            return _looked_up(lists[i:], rests[i + 1 :], places, sums[places], n)
        if seen is not None and banned is not None:
            sums[banned] = -np.inf
        lists[i].add_to(sums)
        known, seen = sums, None
    near = _reaching(known, floor(known, n))
    places = near if seen is None else np.sort(seen[near])
    return places, sums[places]


def _sum_few(lists: Sequence[Any], size: int, banned: NDArray[np.bool_] | None) -> tuple[Floats, Places]:
    """The sums, and each place once where they are not 0 and that counts: of few, at a price for each of them."""
    sums, seen = np.zeros(size), [np.empty(0, np.int32)]
    for each in lists:
        before = sums[each.places]
        sums[each.places] = before + each.values
        seen.append(each.places[before == 0])
    places = np.concatenate(seen)
    return sums, places if banned is None else places[~banned[places]]


def sums_at(lists: Sequence[Scores], size: int, places: NDArray[np.int32]) -> Floats:
    """The sums at some places (m,), 0 at the place -1; to the last bit those of `best`."""
    found = places >= 0
    known = places[found]
    if size <= SMALL and size < LOOKUP_COST * len(known) * len(lists):
        made = _sum(lists, size)[known]
    else:
        made = np.zeros(len(known))
        for each in lists:
            made += each.at(known)
    sums = np.zeros(len(places))
    sums[found] = made
    return sums


def floor(sums: Floats, n: int) -> float:
    """A value that at least n sums reach, or -inf: near the n-th highest, in a fraction of a partition's time.

    Of the highest sums of 2 n columns, the n-th highest: n different sums reach it.
    """
    columns = 2 * n
    if len(sums) >= 2 * columns:
        rows = len(sums) // columns
        highest = np.maximum.reduce(sums[: rows * columns].reshape(rows, columns))
    elif len(sums) < n:
        return -np.inf
    else:
        highest = sums.copy()
    highest.partition(-n)
    return float(highest[-n])


def _reaching(sums: Floats, least: float) -> Places:
    """Where sums > 0 are that much at least."""
    return (sums >= least if least > 0 else sums > 0).nonzero()[0]


def _sum(lists: Sequence[Scores], size: int) -> Floats:
    # of many short arrays, bytes are joined in less than half the time that numpy takes
    places = np.frombuffer(b"".join(map(_PLACES, lists)), np.int32)
    if not len(places):
        return np.zeros(size)  # of nothing, bincount would make integers
    values = np.frombuffer(b"".join(map(_VALUES, lists)), np.float64)
    return cast(Floats, np.bincount(places, values, size))


def _looked_up(
    lists: Sequence[Scores], rests: Sequence[float], places: Places, sums: Floats, n: int
) -> tuple[Places, Floats]:
    """Add the long lists at the places that are left, fewer with each. rests: what those behind a list can add."""
    for each, rest in zip(lists, rests, strict=True):
        sums = sums + each.at(places)
        kept = sums >= floor(sums, n) * _SLACK - rest
        places, sums = places[kept], sums[kept]
    return places, sums
