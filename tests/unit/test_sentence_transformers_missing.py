"""The backend sentence-transformers where its package is not installed."""

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from app.clients.embedder.backends import Backends
from app.errors import EmbedderUnavailable
from app.settings import Settings


def test_without_the_extra_the_backend_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def spec(name: str) -> ModuleSpec | None:
        return None if name == "sentence_transformers" else find(name)

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", spec)
    settings = Settings(embed_backend="sentence-transformers", embed_model="BAAI/bge-m3", embed_dim=1024)
    with pytest.raises(EmbedderUnavailable, match=r"not installed: pip install -e '\.\[st\]'"):
        Backends(settings).configured.embed_questions(["kettle"])
