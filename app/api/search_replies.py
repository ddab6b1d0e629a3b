"""What callers get of a search or an answer: hits with every score, passages, citations, explanations."""

from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from app.api.replies import Reply
from app.records import AnswerSource, CollapseReason


class FoundInReply(Reply):
    """A lower ranked chunk that says what a hit says; `resemblance` is 1 where the texts are equal."""

    rank: int = Field(description="Its own rank among all candidates")
    chunk_id: int
    document_id: int
    source: str
    section: str
    start_char: int
    end_char: int
    resemblance: float = Field(description="Share of three-word shingles that both hold (Jaccard), 0 to 1")


class PassageReply(Reply):
    """What a hit grew to: `text` is `content[start_char:end_char]` of its document."""

    start_char: int
    end_char: int
    text: str
    tokens: int = Field(
        description="An estimate from the scripts of the text, at most expand_tokens for several chunks"
    )
    chunk_ids: list[int] = Field(description="The chunks it holds, in reading order")


class HitReply(Reply):
    """A chunk with every score that put it there; higher is better. null: that path does not know it."""

    rank: int
    chunk_id: int
    document_id: int
    source: str
    title: str
    section: str
    page: int | None = Field(description="Where it begins, from 1, in formats that have pages")
    line: int | None = Field(description="Where it begins, from 1; null where it was ingested by an older version")
    start_char: int
    end_char: int
    text: str
    text_sha256: str
    cosine: float | None
    bm25: float
    vector_rank: int | None
    bm25_rank: int | None
    vector_norm: float
    bm25_norm: float
    fused: float
    span_cosine: float | None
    coverage: float = Field(description="Share of the question's terms that the chunk holds, by weight")
    rerank_score: float | None
    score: float
    also_found_in: list[FoundInReply] = Field(description="Near duplicates among the candidates, which are no hits")
    passage: PassageReply | None = Field(description="With expand_tokens: the hit with its neighbours")


class PathReply(Reply):
    """The scores of one path over all candidates: what normalised them, and the weight that they really had."""

    path: Literal["vector", "bm25", "rerank"]
    method: str = Field(description="The fusion, or the reranker")
    weight: float
    known: int = Field(description="Candidates that have a score of it")
    listed: int = Field(description="Candidates on its own list")
    low: float | None
    high: float | None
    mean: float | None
    deviation: float | None


class TermStatisticReply(Reply):
    """One term of the question: how often it holds it, how many chunks do, and what that is worth (nats)."""

    term: str
    count: int
    df: int
    idf: float


class StatisticsReply(Reply):
    """What BM25 counted over the whole collection."""

    live_chunks: int
    mean_length: float = Field(description="Tokens")
    terms: list[TermStatisticReply]
    bound: float = Field(description="The BM25 that the question could reach")


class TermReply(TermStatisticReply):
    """What `tf` occurrences of a term add to the BM25 of a chunk."""

    tf: int
    score: float


class SpanReply(Reply):
    """The best span of a chunk; offsets are within the chunk's text."""

    start_char: int
    end_char: int
    text: str
    cosine: float
    coverage: float = Field(description="Its share of the question's terms, by weight")


class HitExplanationReply(Reply):
    """Where a hit stood after each step; its score is the sum of the three parts, its BM25 that of its terms."""

    chunk_id: int
    vector_rank: int | None
    bm25_rank: int | None
    fused_rank: int
    reranked_rank: int
    final_rank: int
    vector_part: float
    bm25_part: float
    rerank_part: float
    other_language: bool = Field(description="Than the question's: then BM25 says little, see the fusion's table")
    length: int | None = Field(description="Tokens")
    terms: list[TermReply]
    best_span: SpanReply | None


class CollapseReply(Reply):
    """A candidate that another hit stands for."""

    chunk_id: int
    rank: int
    into: int = Field(description="The chunk of that hit")
    reason: CollapseReason
    resemblance: float | None


class ExplanationReply(Reply):
    """How a search came to its hits. Lexical confidence is best_bm25 / bound / confidence_c0, at most 1."""

    tokenizer: str
    tokens: list[str]
    vector_scan: Literal["none", "exact", "hnsw"]
    parameters: dict[str, Any]
    statistics: StatisticsReply
    best_bm25: float
    confidence: float
    paths: list[PathReply]
    hits: list[HitExplanationReply]
    collapses: list[CollapseReply]


class SearchReply(Reply):
    """Hits in order. `degraded` names the parts that were away: "vector", "rerank"."""

    query_id: UUID
    collection: str
    revision: int
    hits: list[HitReply]
    confidence: float = Field(description="Lexical confidence, 0 to 1")
    degraded: list[str]
    timings_ms: dict[str, float]
    explanation: ExplanationReply | None = Field(description="Where `explain` was true")


class CitationReply(Reply):
    """Where a quote stands: `content[start_char:end_char] == quote`. `number` is the [n] of the answer's text."""

    number: int
    chunk_id: int
    document_id: int
    source: str
    title: str
    section: str
    start_char: int
    end_char: int
    quote: str
    score: float


class AnswerReply(Reply):
    """An answer with its citations, or a refusal.

    `degraded` names the parts that were away: "vector", "rerank", "cache".
    """

    query_id: UUID
    collection: str
    revision: int
    text: str
    source: AnswerSource = Field(
        description="qa: a curated pair; corpus: quoted; refusal: the collection does not tell"
    )
    generator: str
    cached: bool
    confidence: float
    citations: list[CitationReply]
    hits: list[HitReply]
    degraded: list[str]
    timings_ms: dict[str, float]
