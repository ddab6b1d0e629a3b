"""Models that are known: what they want before a text, how long it may be, and their names at each backend.

Source: the model cards on Hugging Face, and the library of Ollama.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Known:
    """One model. `names` by backend, where it has another one there; `shortens`: its first dimensions suffice
    (Matryoshka)."""

    model: str
    dim: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    shortens: bool = False


MODELS = (Known("BAAI/bge-m3", 1_024, 8_192, names={"ollama": "bge-m3"}),)


def find(model: str) -> Known | None:
    """A model by any of its names."""
    wanted = model.lower().removesuffix(":latest")
    return next((m for m in MODELS if wanted in {m.model.lower(), *(n.lower() for n in m.names.values())}), None)


def name_at(backend: str, model: str) -> str:
    """What a backend calls a model; the name itself where it is not known."""
    return known.names.get(backend, known.model) if (known := find(model)) else model
