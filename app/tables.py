"""The tables, as Alembic compares them with the database. Rows stop at `app.db`.

All on one page, so that the schema is read at once; `lexicon_entry`,
`qa_embedding`, `eval_run`, `eval_case`, `api_key` and `job` are reserved for what is to come.

Every large table carries `collection_id` first in its primary key, so that a collection can be moved or sharded whole.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC, VECTOR
from sqlalchemy import (
    REAL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlmodel import Field, SQLModel

literal = text  # several tables have a column named text

HAN_SHARE = "regexp_count(text, '[㐀-鿿]')::real / greatest(char_length(text), 1)"

SQLModel.metadata.naming_convention = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "ck": "%(table_name)s_%(constraint_name)s_check",
}


def _key(**kwargs: Any) -> Any:
    """A generated bigint that is the primary key, or part of it."""
    return Field(sa_column=Column(BigInteger, Identity(always=True), primary_key=True, **kwargs))


def _bigint(*args: Any, **kwargs: Any) -> Any:
    return Field(sa_column=Column(BigInteger, *args, nullable=kwargs.pop("nullable", False), **kwargs))


def _text(**kwargs: Any) -> Any:
    return Field(sa_column=Column(Text, nullable=kwargs.pop("nullable", False), **kwargs))


def _int(**kwargs: Any) -> Any:
    return Field(sa_column=Column(Integer, nullable=kwargs.pop("nullable", False), **kwargs))


def _double(**kwargs: Any) -> Any:
    return Field(sa_column=Column(Double, nullable=kwargs.pop("nullable", True), **kwargs))


def _json(default: str = "{}", **kwargs: Any) -> Any:
    return Field(sa_column=Column(JSONB, nullable=False, server_default=literal(f"'{default}'"), **kwargs))


def _now(**kwargs: Any) -> Any:
    return Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=literal("now()"), **kwargs))


def _one_of(name: str, column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=name)


class EmbeddingSpace(SQLModel, table=True):
    """One model's vector space; `fingerprint` holds the vectors of fixed probe texts, one after the other.

    A space is `building` until a collection is switched to it, and `retired` while its partitions are dropped.
    """

    __tablename__ = "embedding_space"
    __table_args__ = (
        _one_of("state", "state", "building", "active", "retired"),
        CheckConstraint("dim BETWEEN 1 AND 16000", name="dim"),
        Index(
            "embedding_space_identity_idx",
            *("backend", "model", "dim", "query_prefix", "passage_prefix"),
            unique=True,
            postgresql_where=literal("state <> 'retired'"),
        ),
    )
    id: int = _key()
    backend: str = _text()
    model: str = _text()
    dim: int = _int()
    query_prefix: str = _text()
    passage_prefix: str = _text()
    fingerprint: list[float] | None = Field(sa_column=Column(ARRAY(REAL)))
    state: str = _text(server_default=literal("'active'"))
    created_at: datetime = _now()


class WordList(SQLModel, table=True):
    """Immutable: words that decide how text becomes tokens, known by their digest."""

    __tablename__ = "word_list"
    sha256: str = Field(sa_column=Column(Text, primary_key=True))
    user_words: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    stop_words: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    created_at: datetime = _now()


class Collection(SQLModel, table=True):
    __tablename__ = "collection"
    __table_args__ = (
        UniqueConstraint("name"),
        CheckConstraint("name <> ''", name="name"),
        ForeignKeyConstraint(["word_list"], ["word_list.sha256"]),
    )
    id: int = _key()
    name: str = _text()
    space_id: int = _bigint(ForeignKey("embedding_space.id"))
    settings: dict[str, Any] = _json()
    revision: int = _bigint(server_default=literal("0"))
    # the user and stop words its segments are tokenised with; none: no words of its own
    word_list: str | None = _text(nullable=True)
    # part of every cache key: ids and revisions of two databases that share one Redis may be equal
    cache_scope: UUID = Field(sa_column=Column(Uuid, nullable=False, server_default=literal("gen_random_uuid()")))
    created_at: datetime = _now()


class Reembedding(SQLModel, table=True):
    """A change of a collection's model that is under way: its chunks get vectors in this space, then it is switched."""

    __tablename__ = "reembedding"
    __table_args__ = (ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),)
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    space_id: int = _bigint(ForeignKey("embedding_space.id"))
    created_at: datetime = _now()


class Document(SQLModel, table=True):
    __tablename__ = "document"
    __table_args__ = (
        UniqueConstraint("collection_id", "source"),
        ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),
        _one_of("state", "state", "active", "disabled"),
        Index("document_id_idx", "id"),
        Index(
            "document_metadata_idx", "metadata", postgresql_using="gin", postgresql_ops={"metadata": "jsonb_path_ops"}
        ),
        # of its own operator class: the unique key finds prefixes only where the database's collation is C
        Index("document_source_prefix_idx", "collection_id", "source", postgresql_ops={"source": "text_pattern_ops"}),
        Index("document_content_idx", "collection_id", "content_sha256"),
        Index("document_disabled_idx", "collection_id", "id", postgresql_where=literal("state = 'disabled'")),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: int = _key()
    source: str = _text()
    title: str = _text()
    media_type: str = _text()
    content: str = _text()
    characters: int = _int()
    content_sha256: str = _text()
    # what else decides the chunks (splitter, sizes): the same file under other settings is not "unchanged"
    splitting: dict[str, Any] = _json()
    meta: dict[str, Any] = Field(sa_column=Column("metadata", JSONB, nullable=False, server_default=literal("'{}'")))
    state: str = _text(server_default=literal("'active'"))
    version: int = _int(server_default=literal("1"))
    created_at: datetime = _now()
    updated_at: datetime = _now()


class DocumentVersion(SQLModel, table=True):
    """One of the last versions of a document: its chunks then, and how many of them it added to or took from the last.

    `changed` are the parts of the document that differ from the version before; none in the first that is known.
    """

    __tablename__ = "document_version"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "document_id"], ["document.collection_id", "document.id"], ondelete="CASCADE"
        ),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    document_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    version: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    at: datetime = _now()
    title: str = _text()
    content_sha256: str = _text()
    chunks: int = _int()
    added: int = _int()
    removed: int = _int()
    changed: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))


class DocumentChange(SQLModel, table=True):
    """A chunk that a version added or removed, at its place in the version that has it. The first version has none."""

    __tablename__ = "document_change"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "document_id", "version"],
            ["document_version.collection_id", "document_version.document_id", "document_version.version"],
            ondelete="CASCADE",
        ),
        _one_of("kind", "kind", "added", "removed"),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    document_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    version: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    kind: str = Field(sa_column=Column(Text, primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    section: str = _text()
    text: str = _text()
    text_sha256: str = _text()
    page: int | None = _int(nullable=True)
    line: int | None = _int(nullable=True)


class PendingDocument(SQLModel, table=True):
    """A document that is kept until an embedder answers; it takes the place of what the collection has by its source.

    `digest` tells one version from the next, so that a retry never takes away a newer one. `error` is the kind of what
    the last of the `attempts` ended with, `reason` its sentence for the operator: it may name hosts.
    """

    __tablename__ = "pending_document"
    __table_args__ = (
        UniqueConstraint("collection_id", "source"),
        ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: int = _key()
    source: str = _text()
    title: str = _text()
    media_type: str = _text()
    content: str = _text()
    pages: list[int] = Field(sa_column=Column(ARRAY(Integer), nullable=False, server_default=literal("'{}'")))
    meta: dict[str, Any] = Field(sa_column=Column("metadata", JSONB, nullable=False, server_default=literal("'{}'")))
    digest: str = _text()
    error: str = _text()
    reason: str = _text()
    attempts: int = _int(server_default=literal("1"))
    created_at: datetime = _now()
    updated_at: datetime = _now()


class Chunk(SQLModel, table=True):
    """`text = substring(content, start_char + 1, end_char - start_char)` of its document."""

    __tablename__ = "chunk"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "document_id"], ["document.collection_id", "document.id"], ondelete="CASCADE"
        ),
        UniqueConstraint("collection_id", "document_id", "ordinal", deferrable=True, initially="DEFERRED"),
        CheckConstraint("start_char >= 0 AND end_char > start_char", name="offsets"),
        Index("chunk_collection_id_text_sha256_idx", "collection_id", "text_sha256"),
        Index("chunk_section_prefix_idx", "collection_id", "section", postgresql_ops={"section": "text_pattern_ops"}),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: int = _key()
    document_id: int = _bigint()
    ordinal: int = _int()
    start_char: int = _int()
    end_char: int = _int()
    text: str = _text()
    text_sha256: str = _text()
    section: str = _text(server_default=literal("''"))
    page: int | None = _int(nullable=True)
    line: int | None = _int(nullable=True)
    # of its characters, 0 to 1: what BM25 can be asked of a chunk depends on its language
    han_share: float = Field(sa_column=Column(REAL, Computed(HAN_SHARE, persisted=True)))
    meta: dict[str, Any] = Field(sa_column=Column("metadata", JSONB, nullable=False, server_default=literal("'{}'")))


class Embedding(SQLModel, table=True):
    """One partition per space (`embedding_s<id>`); each checks its own dimension."""

    __tablename__ = "embedding"
    __table_args__ = (
        ForeignKeyConstraint(["collection_id", "chunk_id"], ["chunk.collection_id", "chunk.id"], ondelete="CASCADE"),
        {"postgresql_partition_by": "LIST (space_id)"},
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    chunk_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    space_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    embedding: Any = Field(sa_column=Column(VECTOR(), nullable=False))


class Span(SQLModel, table=True):
    """A sentence or a few of a chunk. Offsets are within the chunk's text, so they hold when the chunk moves."""

    __tablename__ = "span"
    __table_args__ = (
        ForeignKeyConstraint(["collection_id", "chunk_id"], ["chunk.collection_id", "chunk.id"], ondelete="CASCADE"),
        CheckConstraint("start_char >= 0 AND end_char > start_char", name="offsets"),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    chunk_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    start_char: int = _int()
    end_char: int = _int()


class SpanEmbedding(SQLModel, table=True):
    """Half precision, no ANN index: read by chunk."""

    __tablename__ = "span_embedding"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "chunk_id", "ordinal"],
            ["span.collection_id", "span.chunk_id", "span.ordinal"],
            ondelete="CASCADE",
        ),
        {"postgresql_partition_by": "LIST (space_id)"},
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    chunk_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    space_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    embedding: Any = Field(sa_column=Column(HALFVEC(), nullable=False))


class LexicalSegment(SQLModel, table=True):
    """The chunks of one ingest (or of several, merged), by ordinal, with their lengths in tokens.

    Immutable but for `dead_count`, the number of its tombstones, which tells a reader whether those it knows are all,
    and for `retired`: compaction has put another in its place and is deleting it.
    """

    __tablename__ = "lexical_segment"
    __table_args__ = (ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),)
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: int = _key()
    tokenizer: str = _text()
    chunk_ids: list[int] = Field(sa_column=Column(ARRAY(BigInteger), nullable=False))
    lengths: list[int] = Field(sa_column=Column(ARRAY(Integer), nullable=False))
    chunk_count: int = Field(sa_column=Column(Integer, Computed("cardinality(chunk_ids)", persisted=True)))
    # the range that its chunks lie in, so that the array of a segment that cannot hold a chunk is not read
    first_chunk_id: int = Field(sa_column=Column(BigInteger, Computed("chunk_ids[1]", persisted=True)))
    last_chunk_id: int = Field(
        sa_column=Column(BigInteger, Computed("chunk_ids[cardinality(chunk_ids)]", persisted=True))
    )
    dead_count: int = _int(server_default=literal("0"))
    retired: bool = Field(sa_column=Column(Boolean, nullable=False, server_default=literal("false")))
    created_at: datetime = _now()


class LexicalPosting(SQLModel, table=True):
    """Of one term in one segment: in which ordinals (from 0, ascending) it stands, and how often."""

    __tablename__ = "lexical_posting"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "segment_id"], ["lexical_segment.collection_id", "lexical_segment.id"], ondelete="CASCADE"
        ),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    segment_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    term: str = Field(sa_column=Column(Text, primary_key=True))
    ordinals: list[int] = Field(sa_column=Column(ARRAY(Integer), nullable=False))
    frequencies: list[int] = Field(sa_column=Column(ARRAY(SmallInteger), nullable=False))


class LexicalTombstone(SQLModel, table=True):
    """A chunk of a segment that is gone or disabled; masked before df, N and mean length are counted."""

    __tablename__ = "lexical_tombstone"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "segment_id"], ["lexical_segment.collection_id", "lexical_segment.id"], ondelete="CASCADE"
        ),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    segment_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))


class QaPair(SQLModel, table=True):
    __tablename__ = "qa_pair"
    __table_args__ = (
        ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),
        UniqueConstraint("collection_id", "normalized_question"),
        _one_of("state", "state", "active", "disabled"),
        Index("qa_pair_id_idx", "id"),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: int = _key()
    question: str = _text()
    normalized_question: str = _text()
    answer: str = _text()
    state: str = _text(server_default=literal("'active'"))
    created_at: datetime = _now()
    updated_at: datetime = _now()


class QaEmbedding(SQLModel, table=True):
    __tablename__ = "qa_embedding"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "qa_pair_id"], ["qa_pair.collection_id", "qa_pair.id"], ondelete="CASCADE"
        ),
        {"postgresql_partition_by": "LIST (space_id)"},
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    qa_pair_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    space_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    embedding: Any = Field(sa_column=Column(VECTOR(), nullable=False))


class GoldenQuestion(SQLModel, table=True):
    """A question whose answer is known, which a collection is measured by.

    `key` is its id in the file that it came from. `gold` holds `{"source", "quote"}` of each passage that answers; none
    where a refusal is right.
    """

    __tablename__ = "golden_question"
    __table_args__ = (
        ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),
        UniqueConstraint("collection_id", "key"),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: int = _key()
    key: str = _text()
    question: str = _text()
    gold: list[dict[str, str]] = Field(sa_column=Column(JSONB, nullable=False))
    answer: str | None = _text(nullable=True)
    language: str = _text()


class LexiconEntry(SQLModel, table=True):
    """A word the gate or the tokenizer knows; no collection means all of them."""

    __tablename__ = "lexicon_entry"
    __table_args__ = (
        ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),
        UniqueConstraint("collection_id", "kind", "term", postgresql_nulls_not_distinct=True),
        _one_of("kind", "kind", "blocked", "synonym", "user_word", "stopword"),
    )
    id: int = _key()
    collection_id: int | None = _bigint(nullable=True)
    kind: str = _text()
    term: str = _text()
    canonical: str | None = _text(nullable=True)


class QueryLog(SQLModel, table=True):
    """One search or ask: what was asked of which revision, with which parameters, and what came of it.

    `lexical` keeps the BM25 statistics used (live chunks, mean length, df and idf per term) and `embedding` the
    question's vector, so that every score can be recomputed later.
    """

    __tablename__ = "query_log"
    __table_args__ = (
        ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),
        _one_of("kind", "kind", "search", "ask"),
        _one_of("vector_scan", "vector_scan", "none", "exact", "hnsw"),
        Index("query_log_collection_id_at_idx", "collection_id", "at"),
        Index("query_log_id_idx", "id"),
        Index("query_log_at_idx", "at"),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    at: datetime = _now()
    kind: str = _text()
    revision: int = _bigint()
    space_id: int | None = _bigint(nullable=True)
    question: str = _text()
    tokenizer: str = _text(server_default=literal("''"))
    tokens: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    embedding: Any = Field(sa_column=Column(VECTOR(), nullable=True))
    parameters: dict[str, Any] = _json()
    lexical: dict[str, Any] = _json()
    vector_scan: str = _text(server_default=literal("'none'"))
    confidence: float | None = _double()
    source: str = _text()
    reason: str = _text(server_default=literal("''"))
    answer: str | None = _text(nullable=True)
    citations: list[Any] = _json("[]")
    timings: dict[str, Any] = _json()
    degraded: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False, server_default=literal("'{}'")))


class QueryHit(SQLModel, table=True):
    """One candidate of a query with all its scores. No foreign key to chunk: the ledger outlives it.

    `collapsed_into`: the picked chunk that stands for this one, a near duplicate (then `resemblance` says how near) or
    the one whose passage holds it. The passage is `passage_start_char` to `passage_end_char` of the document.
    """

    __tablename__ = "query_hit"
    __table_args__ = (
        ForeignKeyConstraint(
            ["collection_id", "query_id"], ["query_log.collection_id", "query_log.id"], ondelete="CASCADE"
        ),
    )
    collection_id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    query_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    chunk_id: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    text_sha256: str = _text()
    source: str = _text()
    vector_rank: int | None = _int(nullable=True)
    bm25_rank: int | None = _int(nullable=True)
    cosine: float | None = _double()
    bm25: float | None = _double()
    vector_norm: float | None = _double()
    bm25_norm: float | None = _double()
    fused: float | None = _double()
    fused_rank: int = _int()
    span_cosine: float | None = _double()
    coverage: float | None = _double()
    rerank_score: float | None = _double()
    score: float | None = _double()
    rank: int = _int()
    picked: bool = Field(nullable=False, sa_column_kwargs={"server_default": literal("false")})
    other_language: bool = Field(nullable=False, sa_column_kwargs={"server_default": literal("false")})
    cited: bool = Field(nullable=False, sa_column_kwargs={"server_default": literal("false")})
    collapsed_into: int | None = _bigint(nullable=True)
    resemblance: float | None = _double()
    passage_start_char: int | None = _int(nullable=True)
    passage_end_char: int | None = _int(nullable=True)


class EvalRun(SQLModel, table=True):
    __tablename__ = "eval_run"
    __table_args__ = (ForeignKeyConstraint(["collection_id"], ["collection.id"], ondelete="CASCADE"),)
    id: int = _key()
    at: datetime = _now()
    collection_id: int = _bigint()
    dataset: str = _text()
    parameters: dict[str, Any] = _json()
    metrics: dict[str, Any] = _json()


class EvalCase(SQLModel, table=True):
    __tablename__ = "eval_case"
    run_id: int = Field(sa_column=Column(BigInteger, ForeignKey("eval_run.id", ondelete="CASCADE"), primary_key=True))
    ordinal: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    question: str = _text()
    gold: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    query_id: UUID | None = Field(sa_column=Column(Uuid, nullable=True))
    metrics: dict[str, Any] = _json()


class ApiKey(SQLModel, table=True):
    """Only the digest of a key is kept."""

    __tablename__ = "api_key"
    __table_args__ = (UniqueConstraint("key_sha256"),)
    id: int = _key()
    name: str = _text()
    key_sha256: str = _text()
    scopes: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False, server_default=literal("'{}'")))
    created_at: datetime = _now()
    revoked_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))


class Job(SQLModel, table=True):
    __tablename__ = "job"
    __table_args__ = (_one_of("state", "state", "queued", "running", "done", "failed", "cancelled"),)
    id: int = _key()
    kind: str = _text()
    state: str = _text(server_default=literal("'queued'"))
    parameters: dict[str, Any] = _json()
    progress: dict[str, Any] = _json()
    error: str | None = _text(nullable=True)
    created_at: datetime = _now()
    updated_at: datetime = _now()
