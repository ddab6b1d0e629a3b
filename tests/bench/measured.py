"""How the benchmarks measure: sides in turn within one run, medians, ratios, and a verdict where one was promised."""

# ruff: noqa: T201 - a benchmark prints

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Result = TypeVar("Result")


@dataclass
class Report:
    """The lines of one benchmark and the promises that it broke."""

    title: str
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        print(f"\n== {self.title}")

    def line(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def promise(self, name: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
        """Print a figure beside its bound and remember where it lies beyond."""
        kept = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
        bound = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
        self.line(f"{name}: {value:.3g} ({bound}){'' if kept else '  MISSED'}")
        if not kept:
            self.failures.append(f"{self.title}: {name} {value:.3g}, {bound}")


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that a call took, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def in_turn(sides: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each side in each round, the sides one after the other, so that noise hits all of them alike."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, call in sides.items():
            taken[name].append(timed(call)[0])
    return taken


def ratio(over: list[float], under: list[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))
