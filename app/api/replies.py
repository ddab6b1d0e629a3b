"""What callers get: the records of the domain as JSON, in UTF-8, described for the OpenAPI document."""

from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal
from uuid import UUID

from flask import Response
from pydantic import BaseModel, ConfigDict, Field

from app.records import ChangeKind, Chunk, Collection, DocumentState, Ingested, ModelChange, Outcome

_WAITS = "no embedder answers; it is kept, and found as soon as one does"


class Reply(BaseModel):
    """A JSON reply. A number that is not finite becomes null."""

    model_config = ConfigDict(from_attributes=True, ser_json_inf_nan="null")


def reply(body: Reply, status: int = HTTPStatus.OK, **headers: str) -> Response:
    """A model as a response."""
    return Response(body.model_dump_json(), status, headers, content_type="application/json")


def no_content() -> Response:
    """The reply to a deletion."""
    return Response(status=HTTPStatus.NO_CONTENT)


# --- documents and collections ------------------------------------------------------------------------------------


class DocumentOutcome(Reply):
    """What became of one document."""

    source: str
    outcome: Outcome
    document_id: int | None = None
    version: int | None = None
    chunks: int = 0
    chunks_reused: int = Field(0, description="Chunks of equal text, whose vectors were kept")
    reason: str = Field("", description="Why it failed, or waits")
    warnings: list[str] = Field([], description="What could not be read of it, or for certain")

    @classmethod
    def of(cls, outcome: Ingested) -> "DocumentOutcome":
        """What ingest returned. Why an embedder does not answer stays in the log: it names hosts."""
        made = cls.model_validate(outcome)
        return made.model_copy(update={"reason": _WAITS}) if outcome.outcome == "pending" else made


class UploadReply(Reply):
    """What became of each file, in the order sent."""

    documents: list[DocumentOutcome]


class DocumentReply(Reply):
    """A stored document, without its content."""

    id: int
    collection: str
    source: str
    title: str
    media_type: str
    metadata: dict[str, Any]
    state: DocumentState
    version: int
    chunks: int
    characters: int
    created_at: datetime
    updated_at: datetime


class DocumentsReply(Reply):
    """A page of documents. `next_after` is the `after` of the next page, null on the last."""

    documents: list[DocumentReply]
    next_after: int | None


_OF_CHUNK = ("ordinal", "start_char", "end_char", "section", "page", "line", "text")


class ChunkReply(Reply):
    """A piece of a document: `text` is `content[start_char:end_char]`, in characters."""

    chunk_id: int
    ordinal: int
    start_char: int
    end_char: int
    section: str
    page: int | None = Field(description="Where it begins, from 1, in formats that have pages")
    line: int | None = Field(description="Where it begins, from 1; null where it was ingested by an older version")
    text: str

    @classmethod
    def of(cls, chunk_id: int, chunk: Chunk) -> "ChunkReply":
        """A stored chunk."""
        return cls.model_validate({"chunk_id": chunk_id} | {name: getattr(chunk, name) for name in _OF_CHUNK})


class ChunksReply(Reply):
    """A page of a document's chunks, in order."""

    chunks: list[ChunkReply]
    next_after: int | None


class VersionReply(Reply):
    """A version of a document, told by how many chunks it had, added and removed."""

    version: int
    at: datetime
    title: str
    content_sha256: str
    chunks: int
    added: int
    removed: int
    changed: list[str] = Field(description="The parts that differ from the version before; none in the first known")


class VersionsReply(Reply):
    """The versions of a document that are kept, newest first."""

    versions: list[VersionReply]


class ChangeReply(Reply):
    """A chunk that was added, at its place in that version, or removed, at its place in the version before."""

    kind: ChangeKind
    version: int
    ordinal: int
    section: str
    page: int | None
    line: int | None
    text: str


class ChangesReply(Reply):
    """What changed between two versions of a document, in the order of the places. A text that only moved is none."""

    since: int
    until: int
    changed: list[str] = Field(description="Parts of the document that a version between them changed")
    chunks: list[ChangeReply]


class SplittingReply(Reply):
    """How a collection's documents are split."""

    splitter: str
    size_chars: int
    overlap_chars: int
    spans: bool


class ModelReply(Reply):
    """The model whose vectors a collection holds."""

    backend: str
    model: str
    dim: int
    query_prefix: str
    passage_prefix: str


class ModelChangeReply(Reply):
    """A change of a collection's model that is under way. Searches use the old one until every chunk is embedded."""

    model: ModelReply
    embedded: int = Field(description="Chunks that have their vector of the new model")
    chunks: int


class CollectionSummary(Reply):
    """A collection. `revision` grows with every change that a search could see."""

    name: str
    revision: int
    documents: int


class CollectionsReply(Reply):
    """All collections, by name."""

    collections: list[CollectionSummary]


class CollectionReply(Reply):
    """A collection with its settings."""

    name: str
    revision: int
    splitting: SplittingReply
    model: ModelReply
    pending: int = Field(description="Documents that wait for an embedder and are not found yet")
    model_change: ModelChangeReply | None = Field(description="null: none is under way")

    @classmethod
    def of(cls, collection: Collection, pending: int, change: ModelChange | None) -> "CollectionReply":
        """A stored collection."""
        return cls(
            name=collection.name,
            revision=collection.revision,
            splitting=SplittingReply.model_validate(collection.splitting),
            model=ModelReply.model_validate(collection.space.identity),
            pending=pending,
            model_change=ModelChangeReply.model_validate(change) if change else None,
        )


# --- the ledger ---------------------------------------------------------------------------------------------------


class LoggedHitReply(Reply):
    """One candidate of a query as it was scored then; the chunk may be gone since."""

    chunk_id: int
    text_sha256: str
    source: str
    vector_rank: int | None
    bm25_rank: int | None
    cosine: float | None
    bm25: float | None
    vector_norm: float | None
    bm25_norm: float | None
    fused: float | None
    fused_rank: int
    span_cosine: float | None
    coverage: float | None
    rerank_score: float | None
    score: float | None
    rank: int
    other_language: bool = Field(description="Not the question's: BM25 says little about it")
    picked: bool
    cited: bool
    collapsed_into: int | None = Field(description="The picked chunk that stands for this one")
    resemblance: float | None = Field(description="To that chunk; null: this one is part of its passage")
    passage_start_char: int | None
    passage_end_char: int | None


class LoggedQueryReply(Reply):
    """What the ledger keeps of a search or an answer."""

    id: UUID
    at: datetime
    kind: Literal["search", "ask"]
    collection: str
    revision: int
    question: str
    tokenizer: str = Field(description="What made the tokens: a version and the collection's own words; empty: nothing")
    tokens: list[str]
    parameters: dict[str, Any]
    vector_scan: Literal["none", "exact", "hnsw"]
    lexical: dict[str, Any] = Field(description="The BM25 statistics used: live chunks, mean length, df and idf")
    confidence: float | None
    source: str
    reason: str
    answer: str | None
    citations: list[dict[str, Any]]
    timings_ms: dict[str, float]
    degraded: list[str]
    hits: list[LoggedHitReply]


# --- curated pairs and health -------------------------------------------------------------------------------------


class QaPairReply(Reply):
    """A curated pair."""

    id: int
    collection: str
    question: str
    answer: str
    state: DocumentState
    created_at: datetime
    updated_at: datetime


class QaPairsReply(Reply):
    """A page of pairs."""

    qa_pairs: list[QaPairReply]
    next_after: int | None


class LexiconEntryReply(Reply):
    """A word as it is looked for: folded, lower case. `collection` is null where it is one of all."""

    id: int
    kind: Literal["user_word", "stopword"]
    term: str
    collection: str | None


class LexiconReply(Reply):
    """A page of words, and the collections whose index is not yet made with the words as they are."""

    entries: list[LexiconEntryReply]
    next_after: int | None
    pending: list[str]


class AddedWordsReply(Reply):
    """The words that were new, as they are looked for."""

    added: list[str]


class LiveReply(Reply):
    """The process runs."""

    status: Literal["ok"] = "ok"


PartState = Literal["ok", "behind", "unavailable"]  # behind: a replica that lacks what this process wrote


class ReadyReply(Reply):
    """Whether questions can be answered. Without cache, embedder or replica they are, less well: `degraded`."""

    status: Literal["ok", "degraded", "unavailable"]
    parts: dict[str, PartState]
