"""Every setting, read once from the environment (and `.env`) by an entry point."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parents[1]
EMBED_BACKENDS = ("builtin", "ollama", "openai", "sentence-transformers")


class Settings(BaseSettings):
    """Range-checked and frozen. An environment variable has the field's name in upper case."""

    model_config = SettingsConfigDict(env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True)

    ragledger_home: Path = Field(Path("var"), description="Data folder: embedded services, converted model")
    database_url: SecretStr | None = Field(None, description="PostgreSQL 15 to 18, pgvector >= 0.8; unset: embedded")
    database_read_url: SecretStr | None = Field(
        None, description="Replicas that may answer reads: postgresql://u:p@host1,host2/db; unset: none"
    )
    redis_url: SecretStr | None = Field(None, description="Redis or Valkey; unset: embedded Valkey")

    collection: str = Field("default", min_length=1, max_length=200, description="Collection used when none is named")
    embed_backend: str = Field(
        "builtin", description="builtin, ollama, openai or sentence-transformers; of several the first that answers"
    )
    embed_model: str | None = Field(
        None, min_length=1, validate_default=True, description="Embedding model; unset: the built-in one"
    )
    embed_dim: int | None = Field(
        None, ge=1, le=16_000, description="Dimension of the vectors; fewer than the model's: shortened (Matryoshka)"
    )
    embed_query_prefix: str | None = Field(None, description="Put before a question; unset: what the model wants")
    embed_passage_prefix: str | None = Field(None, description="Put before a passage; unset: likewise")
    embed_threads: int = Field(0, ge=0, le=256, description="Threads of the built-in embedder; 0: one per core")
    embed_batch_texts: int = Field(32, ge=1, le=4_096, description="Most texts in one request to an embedding server")
    embed_batch_chars: int = Field(32_000, ge=100, description="Most characters in a request, unless one text has more")
    embed_timeout_seconds: float = Field(60, gt=0, le=3_600, description="Longest wait for a request with passages")
    embed_question_timeout_seconds: float = Field(
        5, gt=0, le=600, description="Longest wait for a question's vector before going on by BM25 alone"
    )
    embed_retries: int = Field(4, ge=0, le=20, description="Further attempts at a request with passages")
    ollama_base_url: str = Field("http://127.0.0.1:11434", description="Address of Ollama")
    openai_base_url: str = Field(
        "https://api.openai.com/v1",
        description="OpenAI-compatible API: OpenAI, TEI, vLLM, Infinity, LM Studio",
    )
    openai_api_key: SecretStr | None = Field(None, description="Bearer token for OPENAI_BASE_URL")

    splitter: Literal["fixed", "sentence", "semantic"] = Field("semantic", description="How documents are split")
    chunk_chars: int = Field(1_200, ge=50, le=20_000, description="Largest chunk, characters")
    chunk_overlap_chars: int = Field(120, ge=0, le=10_000, description="Overlap of neighbouring chunks, characters")
    document_max_bytes: int = Field(20_000_000, ge=1_000, description="Largest document accepted, bytes")
    document_versions: int = Field(
        20, ge=0, le=10_000, description="Versions of a document whose changes are kept, texts and all; 0: none"
    )
    archive_max_bytes: int = Field(200_000_000, ge=1_000, description="Largest archive accepted, packed and unpacked")

    top_k: int = Field(8, ge=1, le=100, description="Hits returned")
    candidates: int = Field(100, ge=1, le=1_000, description="Candidates taken from each recall path")
    fusion: Literal["minmax_confidence", "minmax", "zscore", "rrf", "weighted_rrf", "score"] = Field(
        "minmax_confidence", description="How the scores of both paths become one"
    )
    vector_weight: float = Field(0.4, ge=0, le=1, description="Weight of the vector path in fusion")
    bm25_weight: float = Field(0.6, ge=0, le=1, description="Weight of the BM25 path in fusion")
    reranker: Literal["spans", "none", "overlap", "cross-encoder", "http"] = Field(
        "spans", description="What reranks the best fused candidates"
    )
    rerank_depth: int = Field(30, ge=0, le=200, description="Fused candidates reranked; 0: off")
    rerank_weight: float = Field(0.5, ge=0, le=10, description="Weight of the normalised rerank score")
    rerank_coverage_weight: float = Field(
        0.2, ge=0, le=1, description="What a chunk's share of the question's words adds to its best span's cosine"
    )
    rerank_min_score: float | None = Field(
        None, allow_inf_nan=False, description="Least rerank score of a hit, on the reranker's scale; unset: any"
    )
    reranker_model: str | None = Field(
        None, min_length=1, description="Model of the reranker: a name, or for cross-encoder also a local folder"
    )
    reranker_max_tokens: int = Field(
        512, ge=16, le=32_768, description="Question and text together that the cross-encoder reads, tokens"
    )
    reranker_url: str | None = Field(
        None, validate_default=True, description="Address of POST /rerank for RERANKER=http, path and all"
    )
    reranker_protocol: Literal["tei", "jina"] | None = Field(
        None, description="tei, or jina (vLLM, Infinity, Jina, Cohere); unset: jina where RERANKER_MODEL is set"
    )
    reranker_api_key: SecretStr | None = Field(None, description="Bearer token for RERANKER_URL")
    reranker_timeout_seconds: float = Field(
        5, gt=0, le=600, description="Longest wait for the reranker before going on in the fused order"
    )
    expand_tokens: int = Field(0, ge=0, le=8_000, description="Budget of the passage a hit grows to, tokens; 0: off")
    exact_scan_max: int = Field(
        20_000, ge=0, le=10_000_000, description="Chunks whose vectors are all compared; more of them: by an HNSW index"
    )
    hnsw_ef_search: int = Field(200, ge=1, le=1_000, description="Candidates an HNSW scan keeps, at least")
    hnsw_halfvec: bool = Field(False, description="Index vectors in half precision: half the memory")
    index_memory_bytes: int = Field(
        4_000_000_000, ge=64_000_000, description="Memory that building an index may take on the database server, bytes"
    )
    question_max_chars: int = Field(2_000, ge=10, le=100_000, description="Longest question accepted, characters")

    answer_cache_seconds: int = Field(3_600, ge=0, description="Life of a cached answer; 0: no cache")
    question_cache_seconds: int = Field(3_600, ge=0, description="Life of a question's cached vector; 0: no cache")
    redis_timeout_seconds: float = Field(
        0.05, gt=0, le=10, description="Longest wait for Redis before going on without"
    )
    postings_cache_bytes: int = Field(256_000_000, ge=0, description="Memory for decoded postings, per process")

    database_pool_max: int = Field(10, ge=1, le=500, description="Connections per process")
    database_timeout_seconds: float = Field(30, gt=0, le=600, description="Longest wait for a connection, a statement")

    host: str = Field("127.0.0.1", description="Address that `ragledger serve` listens on")
    port: int = Field(8000, ge=0, le=65_535, description="Port that `ragledger serve` listens on")
    allowed_hosts: str = Field(
        "localhost,127.0.0.1,[::1]", min_length=1, description="Names by which clients may call the service; *: any"
    )
    server_threads: int = Field(8, ge=1, le=256, description="Request threads of the server")
    request_max_bytes: int = Field(25_000_000, ge=1_000, description="Largest HTTP request body, bytes")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Log level")

    @field_validator("database_url", "database_read_url")
    @classmethod
    def _is_postgresql(cls, url: SecretStr | None) -> SecretStr | None:
        return _with_scheme(url, "postgresql://", "postgres://")

    @property
    def embed_backends(self) -> tuple[str, ...]:
        """The names in EMBED_BACKEND, in order."""
        return tuple(name.strip() for name in self.embed_backend.split(","))

    @field_validator("embed_backend")
    @classmethod
    def _are_backends(cls, backends: str) -> str:
        names = [name.strip() for name in backends.split(",")]
        if unknown := [name for name in names if name not in EMBED_BACKENDS]:
            raise ValueError(f"there is no backend {unknown[0]!r}: there are {', '.join(EMBED_BACKENDS)}")
        if len(set(names)) < len(names):
            raise ValueError("names a backend twice")
        if "builtin" in names and len(names) > 1:
            raise ValueError("builtin has a model of its own, which no other backend can stand in for")
        return backends

    @field_validator("embed_model")
    @classmethod
    def _is_named(cls, model: str | None, info: ValidationInfo) -> str | None:
        backend = info.data.get("embed_backend", "builtin")
        if model is None and backend != "builtin":
            raise ValueError(f"is needed by EMBED_BACKEND={backend}")
        if model is not None and backend == "builtin":
            raise ValueError("is not for EMBED_BACKEND=builtin, which has a model of its own")
        return model

    @field_validator("reranker_url")
    @classmethod
    def _is_reranker(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None and info.data.get("reranker") == "http":
            raise ValueError("is needed by RERANKER=http")
        return url if url is None else _http(url, "RERANKER_API_KEY")

    @field_validator("ollama_base_url", "openai_base_url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        return _http(url, "OPENAI_API_KEY").rstrip("/")

    @field_validator("reranker_api_key", "openai_api_key")
    @classmethod
    def _is_key(cls, key: SecretStr | None) -> SecretStr | None:
        if key is None:
            return None
        value = key.get_secret_value().strip()
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise ValueError("must be ASCII characters that can be sent in a header, without spaces")
        return SecretStr(value)

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            try:
                _ = urlsplit(url.get_secret_value()).port
            except ValueError:
                raise ValueError("has no valid host and port") from None
        return _with_scheme(url, "redis://", "rediss://", "unix://")


def _http(url: str, key: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must begin with http:// or https:// and name a host")
    if parts.username is not None:
        raise ValueError(f"must not hold credentials: they belong in {key}")
    return url


def _with_scheme(url: SecretStr | None, *schemes: str) -> SecretStr | None:
    if url is not None and not url.get_secret_value().startswith(schemes):
        raise ValueError(f"must begin with {' or '.join(schemes)}")
    return url
