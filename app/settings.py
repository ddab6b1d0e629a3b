"""Every setting, read once from the environment (and `.env`) by an entry point."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
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
    vector_weight: float = Field(0.5, ge=0, le=1, description="Weight of the vector path in fusion")
    bm25_weight: float = Field(0.5, ge=0, le=1, description="Weight of the BM25 path in fusion")
    rerank_depth: int = Field(20, ge=0, le=200, description="Fused candidates reranked by their best span; 0: off")
    rerank_weight: float = Field(0.3, ge=0, le=10, description="Weight of the best span's normalised cosine")
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
