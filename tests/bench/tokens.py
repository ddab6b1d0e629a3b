"""Tokens and segments in megabytes a second, on one core and on all; how long a process takes to be ready.

python -m tests.bench.tokens
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import count

from app.ingest import cores
from app.lexical.tokens import tokens
from app.records import NO_WORDS
from app.settings import ROOT
from tests.bench.measured import Report, in_turn, ratio

ROUNDS = 3
CHARS = (4_000_000, 16_000_000)
BATCH_CHARS = 1_000_000
READY = "from app.lexical.tokens import tokens; tokens('路径参数 path parameters')"


def texts() -> list[str]:
    """The samples and the mixed texts of the tests: Chinese, English, and both."""
    samples = sorted((ROOT / "app" / "samples" / "documents").rglob("*.*"))
    lines = (ROOT / "tests" / "data" / "mixed_texts.jsonl").read_text(encoding="utf-8").splitlines()
    found = [path.read_text(encoding="utf-8") for path in samples]
    return found + [text for line in lines for text in json.loads(line).values() if isinstance(text, str)]


def batches(some: list[str], chars: int) -> Iterator[Mapping[int, str]]:
    """Numbered, so that no two are equal."""
    batch: dict[int, str] = {}
    for n in count():
        batch[n] = f"{n} {some[n % len(some)]}"
        if sum(map(len, batch.values())) >= BATCH_CHARS:
            yield batch
            if n * len("".join(some)) // len(some) >= chars:
                return
            batch = {}


def made_on_all(given: list[Mapping[int, str]]) -> None:
    with closing(cores.segments(given, NO_WORDS)) as made:
        for _ in made:
            pass


def main() -> int:
    report = Report("tokens")
    for chars in CHARS:
        compare(report, list(batches(texts(), chars)))
    ready = in_turn({"": lambda: subprocess.run([sys.executable, "-c", READY], check=True, cwd=ROOT)}, ROUNDS)  # noqa: S603
    report.line(f"a process makes its first tokens after {min(ready['']):.2f} s")
    return len(report.failures)


def compare(report: Report, given: list[Mapping[int, str]]) -> None:
    """Tokens alone, and whole segments on one core and on all, the start of the processes included."""
    megabytes = sum(len(text.encode()) for batch in given for text in batch.values()) / 1e6
    taken = in_turn(
        {
            "tokens": lambda: [tokens(text) for batch in given for text in batch.values()],
            "segments, one core": lambda: [cores.segment(batch, NO_WORDS) for batch in given],
            "segments, all cores": lambda: made_on_all(given),
        },
        ROUNDS,
    )
    for name, seconds in taken.items():
        report.line(f"{name}: {megabytes / min(seconds):.2f} MB/s of {megabytes:.0f} MB")
    report.line(
        f"all cores over one: {ratio(taken['segments, one core'], taken['segments, all cores']):.2f} times as fast"
    )


if __name__ == "__main__":
    sys.exit(main())
