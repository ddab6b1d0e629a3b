"""Find a model of sentence-transformers: a local folder, or a name on the Hugging Face hub.

A model is loaded only with the pooling that was saved with it. Where that is missing, sentence-transformers would take
the mean of the tokens: for models that were trained otherwise (BGE and Arctic read the first token) a wrong vector.
"""

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_LOG = logging.getLogger(__name__)
_MODULES = "modules.json"
_NO_POOLING = (
    f"it has no {_MODULES}, so that it is not known how the vectors of its tokens become one; build it of Transformer "
    "and Pooling modules, and save that with sentence-transformers"
)


def opened(name: str) -> "SentenceTransformer":
    """Load a model; the hub is asked only for what is not on this machine.

    Raises EmbedderUnavailable, and what torch and transformers raise of a damaged folder.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    folder = Path(name).expanduser()
    if folder.is_dir():
        _require_pooling(folder)
        return SentenceTransformer(str(folder), local_files_only=True)
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise EmbedderUnavailable("there is no such folder")
    repository = name if "/" in name else f"sentence-transformers/{name}"
    return _fetched(repository) if (model := _cached(repository)) is None else model


def _cached(repository: str) -> "SentenceTransformer | None":
    """The model from the hub's cache on this machine; None where it is not there, or not whole."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError
    from sentence_transformers import SentenceTransformer

    try:
        cache = os.getenv("SENTENCE_TRANSFORMERS_HOME")
        folder = Path(hf_hub_download(repository, _MODULES, cache_dir=cache, local_files_only=True)).parent
        _require_pooling(folder)
        return SentenceTransformer(str(folder), local_files_only=True)
    except LocalEntryNotFoundError:
        return None
    except (OSError, EmbedderUnavailable) as error:
        _LOG.info("model.not_whole model=%s error=%s", repository, error)
        return None


def _fetched(repository: str) -> "SentenceTransformer":
    """The model from the hub, which is asked first whether it has a pooling: one request, that fails soon."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
    from sentence_transformers import SentenceTransformer

    try:
        get_hf_file_metadata(hf_hub_url(repository, _MODULES))
    except EntryNotFoundError as error:
        raise EmbedderUnavailable(_NO_POOLING) from error
    except HfHubHTTPError:  # no such model, or not for everyone: its message says so
        raise
    except Exception as error:  # what the hub's client raises of a network depends on its version
        raise EmbedderUnavailable(
            "it is not on this machine, and the Hugging Face hub does not answer; without it EMBED_MODEL must be "
            f"a folder that holds the model ({error})"
        ) from error
    return SentenceTransformer(repository)


def _require_pooling(folder: Path) -> None:
    """Raises EmbedderUnavailable where sentence-transformers would have to guess a model's pooling."""
    try:
        modules = json.loads((folder / _MODULES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EmbedderUnavailable(_NO_POOLING) from None
    for module in modules:
        settings = folder / module["path"] / "config.json"
        if module["type"].endswith(".Pooling") and not settings.is_file():
            raise EmbedderUnavailable(f"{settings} is missing, which says how the vectors of its tokens become one")
