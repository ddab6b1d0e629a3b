"""Ollama's own interface: `POST /api/embed`."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat


class _Embedded(BaseModel):
    model_config = ConfigDict(strict=True)

    embeddings: list[list[FiniteFloat]]


class Ollama:
    """A Dialect. Its vectors come in the order of the texts."""

    def __init__(self, base_url: str, model: str) -> None:
        self.url = f"{base_url}/api/embed"
        self._model = model

    def body(self, texts: Sequence[str]) -> dict[str, Any]:
        # it would else cut what is too long, and say nothing
        return {"model": self._model, "input": list(texts), "truncate": False}

    def rows(self, content: bytes) -> list[list[float]]:
        return _Embedded.model_validate_json(content).embeddings
