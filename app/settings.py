"""Every setting, read once from the environment (and `.env`) by an entry point."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

ROOT = Path(__file__).resolve().parents[1]


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
    embed_backend: Literal["builtin"] = Field("builtin", description="Embedding backend")
    embed_threads: int = Field(0, ge=0, le=256, description="Threads of the built-in embedder; 0: one per core")

    splitter: Literal["fixed", "sentence", "semantic"] = Field("semantic", description="How documents are split")
    chunk_chars: int = Field(1_200, ge=50, le=20_000, description="Largest chunk, characters")
    chunk_overlap_chars: int = Field(120, ge=0, le=10_000, description="Overlap of neighbouring chunks, characters")
    document_max_bytes: int = Field(20_000_000, ge=1_000, description="Largest document accepted, bytes")

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

    @field_validator("reranker_url")
    @classmethod
    def _is_http(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None:
            if info.data.get("reranker") == "http":
                raise ValueError("is needed by RERANKER=http")
            return None
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must begin with http:// or https:// and name a host")
        if parts.username is not None:
            raise ValueError("must not hold credentials: they belong in RERANKER_API_KEY")
        return url

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None:
            try:
                _ = urlsplit(url.get_secret_value()).port
            except ValueError:
                raise ValueError("has no valid host and port") from None
        return _with_scheme(url, "redis://", "rediss://", "unix://")


def _with_scheme(url: SecretStr | None, *schemes: str) -> SecretStr | None:
    if url is not None and not url.get_secret_value().startswith(schemes):
        raise ValueError(f"must begin with {' or '.join(schemes)}")
    return url
