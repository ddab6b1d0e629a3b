"""Models that are known: what they want before a text, how long it may be, and their names at each backend.

Source: the model cards on Hugging Face, OpenAI's documentation, and the library of Ollama.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_E5 = ("query: ", "passage: ")
_BGE_ZH = "为这个句子生成表示以用于检索相关文章："
_PASSAGES = "Represent this sentence for searching relevant passages: "
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@dataclass(frozen=True, slots=True)
class Known:
    """One model. `names` by backend, where it has another one there; `shortens`: its first dimensions suffice
    (Matryoshka), and the backends in `shortened_by` give no more of them than they are asked for."""

    model: str
    dim: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    shortens: bool = False
    shortened_by: tuple[str, ...] = ()


def _ollama(name: str) -> Mapping[str, str]:
    return {"ollama": name}


MODELS = (
    Known("BAAI/bge-m3", 1_024, 8_192, names=_ollama("bge-m3")),
    Known("BAAI/bge-small-zh-v1.5", 512, 512, _BGE_ZH),
    Known("BAAI/bge-base-zh-v1.5", 768, 512, _BGE_ZH),
    Known("BAAI/bge-large-zh-v1.5", 1_024, 512, _BGE_ZH),
    Known("BAAI/bge-small-en-v1.5", 384, 512, _PASSAGES),
    Known("BAAI/bge-base-en-v1.5", 768, 512, _PASSAGES),
    Known("BAAI/bge-large-en-v1.5", 1_024, 512, _PASSAGES),
    Known("intfloat/multilingual-e5-small", 384, 512, *_E5),
    Known("intfloat/multilingual-e5-base", 768, 512, *_E5),
    Known("intfloat/multilingual-e5-large", 1_024, 512, *_E5),
    Known("intfloat/multilingual-e5-large-instruct", 1_024, 512, f"{_TASK} "),
    Known("intfloat/e5-small-v2", 384, 512, *_E5),
    Known("intfloat/e5-base-v2", 768, 512, *_E5),
    Known("intfloat/e5-large-v2", 1_024, 512, *_E5),
    Known("Snowflake/snowflake-arctic-embed-xs", 384, 512, _PASSAGES, names=_ollama("snowflake-arctic-embed:22m")),
    Known("Snowflake/snowflake-arctic-embed-s", 384, 512, _PASSAGES, names=_ollama("snowflake-arctic-embed:33m")),
    Known("Snowflake/snowflake-arctic-embed-m", 768, 512, _PASSAGES, names=_ollama("snowflake-arctic-embed:110m")),
    Known("Snowflake/snowflake-arctic-embed-m-v1.5", 768, 512, _PASSAGES, shortens=True),
    Known("Snowflake/snowflake-arctic-embed-l", 1_024, 512, _PASSAGES, names=_ollama("snowflake-arctic-embed")),
    Known("Snowflake/snowflake-arctic-embed-m-v2.0", 768, 8_192, "query: ", shortens=True),
    Known(
        "Snowflake/snowflake-arctic-embed-l-v2.0",
        1_024,
        8_192,
        "query: ",
        names=_ollama("snowflake-arctic-embed2"),
        shortens=True,
    ),
    Known(
        "nomic-ai/nomic-embed-text-v1.5",
        768,
        8_192,
        "search_query: ",
        "search_document: ",
        names=_ollama("nomic-embed-text"),
        shortens=True,
    ),
    Known(
        "mixedbread-ai/mxbai-embed-large-v1",
        1_024,
        512,
        _PASSAGES,
        names=_ollama("mxbai-embed-large"),
        shortens=True,
    ),
    Known("Qwen/Qwen3-Embedding-0.6B", 1_024, 32_768, _TASK, names=_ollama("qwen3-embedding:0.6b"), shortens=True),
    Known("Qwen/Qwen3-Embedding-4B", 2_560, 32_768, _TASK, names=_ollama("qwen3-embedding:4b"), shortens=True),
    Known("Qwen/Qwen3-Embedding-8B", 4_096, 32_768, _TASK, names=_ollama("qwen3-embedding:8b"), shortens=True),
    Known("sentence-transformers/all-MiniLM-L6-v2", 384, 256, names=_ollama("all-minilm")),
    Known("text-embedding-3-small", 1_536, 8_191, shortens=True, shortened_by=("openai",)),
    Known("text-embedding-3-large", 3_072, 8_191, shortens=True, shortened_by=("openai",)),
    Known("text-embedding-ada-002", 1_536, 8_191),
)


def find(model: str) -> Known | None:
    """A model by any of its names."""
    wanted = model.lower().removesuffix(":latest")
    return next((m for m in MODELS if wanted in {m.model.lower(), *(n.lower() for n in m.names.values())}), None)


def name_at(backend: str, model: str) -> str:
    """What a backend calls a model; the name itself where it is not known."""
    return known.names.get(backend, known.model) if (known := find(model)) else model
