"""What the steps hand to each other: frozen, plain, free of SQL, HTTP and drivers. One page: the service's words.

Scores: higher is better. Offsets: 0-based characters (code points), half-open, as Python slices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Vectors = NDArray[np.float32]  # (n, dim), rows of unit length
Vector = NDArray[np.float32]  # (dim,), unit length

SplitterName = Literal["fixed", "sentence", "semantic"]
DocumentState = Literal["active", "disabled"]
Outcome = Literal["added", "updated", "unchanged", "removed", "pending", "failed"]
ChangeKind = Literal["added", "removed"]
CollapseReason = Literal["equal text", "near duplicate", "part of its passage"]
AnswerSource = Literal["qa", "corpus", "refusal"]
SpaceState = Literal["building", "active", "retired"]
VectorScan = Literal["none", "exact", "hnsw"]
FusionName = Literal["minmax_confidence", "minmax", "zscore", "rrf", "weighted_rrf", "score"]
RerankerName = Literal["spans", "none", "overlap", "cross-encoder", "http"]


# --- spaces and collections ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What makes two vectors comparable: only vectors of one identity may meet."""

    backend: str
    model: str
    dim: int
    query_prefix: str
    passage_prefix: str


@dataclass(frozen=True, slots=True)
class Space:
    """One vector space: its own partition of `embedding` and `span_embedding`."""

    id: int  # 0: not there yet
    identity: ModelIdentity
    fingerprint: Vectors | None = field(default=None, compare=False)  # (4, dim): what its probe texts became


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A change of a collection's model that is under way: the model to be, and how many chunks have its vectors."""

    model: ModelIdentity
    embedded: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Splitting:
    """How a collection's documents are split. Sizes in characters."""

    splitter: SplitterName = "semantic"
    size_chars: int = 1_200
    overlap_chars: int = 120
    spans: bool = True


@dataclass(frozen=True, slots=True)
class WordList:
    """Words that a collection's tokens depend on: those of its own, and those left out. Equal digests, equal lists."""

    sha256: str
    user_words: tuple[str, ...] = field(default=(), compare=False)
    stop_words: tuple[str, ...] = field(default=(), compare=False)


NO_WORDS = WordList("")


@dataclass(frozen=True, slots=True)
class Collection:
    """`revision` grows with every change that a search could see; `cache_scope` sets it apart in a shared Redis.

    `words` are those in effect: the index was made with them.
    """

    id: int
    name: str
    space: Space
    splitting: Splitting
    revision: int
    cache_scope: UUID
    words: WordList = NO_WORDS


# --- ingest -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """One document as read: `source` is its name within the collection (a relative path, or the caller's id).

    `pages`: where each begins in the content, of formats that have pages. `warnings`: what could not be read of it.
    """

    source: str
    title: str
    media_type: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence or a few short ones of a chunk; offsets are within the chunk's text."""

    start_char: int
    end_char: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: `text == content[start_char:end_char]`. `section` is the heading path, "A > B".

    `page` and `line` are where it begins, from 1: a page only where the format has them, a line since they are kept.
    """

    ordinal: int
    start_char: int
    end_char: int
    text: str
    section: str
    spans: tuple[Span, ...] = ()
    page: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class SpanScore:
    """A span of a chunk and its cosine to the question; None where either has no vector."""

    chunk_id: int
    start_char: int
    end_char: int
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of one document. `chunks_reused` kept the vectors of equal text; `pending` waits for an embedder."""

    source: str
    outcome: Outcome
    document_id: int | None = None
    version: int | None = None
    chunks: int = 0
    chunks_reused: int = 0
    reason: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A version of a document that waits for an embedder, without its content; no search finds it.

    `digest` is of all that came with it. `error` is the kind of the last attempt's error, `reason` its words for the
    operator.
    """

    id: int
    source: str
    title: str
    media_type: str
    digest: str
    error: str
    reason: str
    attempts: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document, without its content."""

    id: int
    collection: str
    source: str
    title: str
    media_type: str
    metadata: Mapping[str, Any]
    state: DocumentState
    version: int
    chunks: int
    characters: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A version of a document: how many chunks it had, and how many of them it added and removed.

    `changed` are the parts that differ from the version before: content, title, media_type, metadata, splitting.
    """

    version: int
    at: datetime
    title: str
    content_sha256: str
    chunks: int
    added: int
    removed: int
    changed: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChunkChange:
    """A chunk that a version added, at its place in it, or removed, at its place in the version before."""

    kind: ChangeKind
    version: int
    ordinal: int
    section: str
    text: str
    text_sha256: str
    page: int | None
    line: int | None


# --- questions, candidates, hits ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ranking:
    """The parameters of one search, kept whole in the ledger."""

    top_k: int = 8
    candidates: int = 100
    fusion: FusionName = "minmax_confidence"
    vector_weight: float = 0.4
    bm25_weight: float = 0.6
    confidence_c0: float = 0.35
    rrf_k: int = 60
    k1: float = 1.5
    b: float = 0.75
    reranker: RerankerName = "spans"
    rerank_depth: int = 30
    rerank_weight: float = 0.5
    rerank_coverage_weight: float = 0.2
    rerank_min_score: float | None = None
    collapse_duplicates: bool = True
    expand_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks a search may find: all that is given must hold, and what is not given is not asked for.

    metadata: key -> operator (eq, in, gt, gte, lt, lte, exists) -> value. Numbers compare with numbers and strings with
    strings by code point; any other pair does not match. A list in a document's metadata matches by any of its
    elements. `section` is a heading path: its own chunks and those below it. `created_at` and `updated_at`: operator
    (gt, gte, lt, lte) -> moment. Disabled documents are never found, so there is no filter for the state.
    """

    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source_prefix: str = ""
    section: str = ""
    document_ids: tuple[int, ...] = ()
    created_at: Mapping[str, datetime] = field(default_factory=dict)
    updated_at: Mapping[str, datetime] = field(default_factory=dict)

    def given(self) -> dict[str, Any]:
        """The parts that are given, by name; empty where a search may find everything."""
        return {name: value for name in _FILTERS if (value := getattr(self, name))}


_FILTERS = tuple(part.name for part in fields(Filters))


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asked of one collection."""

    text: str
    collection: str
    ranking: Ranking = field(default_factory=Ranking)
    filters: Filters = field(default_factory=Filters)
    use_cache: bool = True
    explain: bool = False


@dataclass(frozen=True, slots=True)
class TermStatistic:
    """One term of a question against one revision of a collection. `count` is its frequency in the question."""

    term: str
    count: int
    df: int
    idf: float


@dataclass(frozen=True, slots=True)
class LexicalStatistics:
    """Corpus-wide BM25 statistics a search used: live chunks, mean tokens per chunk, the question's terms."""

    live_chunks: int
    mean_length: float
    terms: tuple[TermStatistic, ...]
    bound: float  # highest BM25 the question could reach; > 0 where it has a term


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as both recalls read it. `vector` is None where the embedder is away (then `degraded` says so)."""

    question: Question
    collection: Collection
    tokens: tuple[str, ...]
    vector: Vector | None
    degraded: tuple[str, ...] = ()


class Label(NamedTuple):
    """What the ledger keeps of any candidate's chunk, and the share of Han characters in its text, 0 to 1."""

    text_sha256: str
    source: str
    han_share: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """The union of the top lists of both paths, ascending chunk ids, all arrays (n,).

    Every chunk carries both raw scores: cosine (NaN where the vector path is away) and bm25 (0 where no term occurs).
    `coverage` is the share of the question's terms, by count times idf, that the chunk holds, 0 to 1.
    Ranks count from 1 within a path's own top list, 0 where the chunk is not on it. `vector_scan`: how the vector path
    found its list. `other_language`: the chunk is not in the question's, so that BM25 says little about it.
    """

    revision: int
    chunk_ids: Ints
    cosine: Floats
    bm25: Floats
    coverage: Floats
    vector_rank: Ints
    bm25_rank: Ints
    statistics: LexicalStatistics
    labels: Mapping[int, Label]
    other_language: Bools
    vector_scan: VectorScan = "none"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Recalled chunks with what each step made of them, all arrays (n,) in the order of `recalled.chunk_ids`.

    `*_norm` is what a path contributes before its weight, on the scale of the fusion (see `query/fuse.py`);
    `confidence` is in [0, 1]; `fused` and `score` are comparable only within one question. `score` is
    `fused` plus the rerank's bonus. `span_cosine` and `rerank_score` are NaN below the rerank depth and where they
    were not read. Ranks count from 1. `reranked_by` names the method
    and its model, "" where the order is the fused one.
    """

    recalled: Recalled
    vector_norm: Floats
    bm25_norm: Floats
    confidence: float
    fused: Floats
    fused_rank: Ints
    span_cosine: Floats
    rerank_score: Floats
    score: Floats
    rank: Ints
    reranked_by: str = ""


@dataclass(frozen=True, slots=True)
class FoundIn:
    """A lower ranked chunk that says what a hit says. `rank` is its own; `resemblance` is 1 for equal texts."""

    rank: int
    chunk_id: int
    document_id: int
    source: str
    section: str
    start_char: int
    end_char: int
    resemblance: float


@dataclass(frozen=True, slots=True)
class Passage:
    """What a hit grew to: `text == content[start_char:end_char]` of its document, whole chunks in reading order.

    `tokens` is the estimate of `app.lexical.lengths`.
    """

    start_char: int
    end_char: int
    text: str
    tokens: int
    chunk_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Collapse:
    """A candidate that the hit `into` stands for: a near duplicate, or without a resemblance a part of its passage."""

    into: int
    resemblance: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a search returns, with every score that put it there. `rank` counts what is returned, from 1."""

    rank: int
    chunk_id: int
    document_id: int
    source: str
    title: str
    section: str
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
    coverage: float
    rerank_score: float | None
    score: float
    also_found_in: tuple[FoundIn, ...] = ()
    passage: Passage | None = None
    page: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Picked:
    """The hits, best first, and by chunk id what became of candidates that another chunk's hit stands for."""

    hits: tuple[Hit, ...]
    collapses: Mapping[int, Collapse] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """A span of a hit's text that supports an answer; offsets are within the chunk's text."""

    hit: Hit
    start_char: int
    end_char: int
    score: float

    @property
    def text(self) -> str:
        """The quoted text, to the letter."""
        return self.hit.text[self.start_char : self.end_char]


# --- explanations -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """What the inverted index has of a chunk: its length in tokens, and how often it holds terms of the question."""

    length: int
    frequencies: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PathExplanation:
    """The scores of one path over all candidates: what `method` normalised them by, and the weight they really had.

    `known` of them have a score, `listed` stood on the path's own list. The bounds are None where no score is known.
    """

    path: Literal["vector", "bm25", "rerank"]
    method: str
    weight: float
    known: int
    listed: int
    low: float | None
    high: float | None
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class TermExplanation:
    """What one term adds to a chunk's BM25: `score` of `tf` occurrences; `count` is its frequency in the question."""

    term: str
    count: int
    tf: int
    df: int
    idf: float
    score: float


@dataclass(frozen=True, slots=True)
class SpanExplanation:
    """The best span of a chunk, offsets within its text. `coverage` is its share of the question's terms by weight."""

    start_char: int
    end_char: int
    text: str
    cosine: float
    coverage: float


@dataclass(frozen=True, slots=True)
class HitExplanation:
    """Where a hit stood after each step, and what its score is made of: the three parts add up to it.

    `length` (tokens) and `terms` are the index's, None and empty where it does not hold the chunk.
    """

    chunk_id: int
    vector_rank: int | None
    bm25_rank: int | None
    fused_rank: int
    reranked_rank: int
    final_rank: int
    vector_part: float
    bm25_part: float
    rerank_part: float
    other_language: bool
    length: int | None
    terms: tuple[TermExplanation, ...]
    best_span: SpanExplanation | None


@dataclass(frozen=True, slots=True)
class CollapseExplanation:
    """A candidate that was not returned by itself, and the hit that stands for it."""

    chunk_id: int
    rank: int
    into: int
    reason: CollapseReason
    resemblance: float | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a search came to its hits, from the data of that search. `best_bm25 / bound / c0`, at most 1, is the lexical
    confidence; `statistics.terms` also has the terms that no chunk holds."""

    tokenizer: str
    tokens: tuple[str, ...]
    vector_scan: VectorScan
    parameters: Mapping[str, Any]  # of the ranking
    statistics: LexicalStatistics
    best_bm25: float
    confidence: float
    paths: tuple[PathExplanation, ...]
    hits: tuple[HitExplanation, ...]
    collapses: tuple[CollapseExplanation, ...]


# --- results ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits in order, and where it was asked for, how they came about."""

    query_id: UUID
    collection: str
    revision: int
    hits: tuple[Hit, ...]
    confidence: float  # lexical confidence, 0 to 1
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a quote stands in its document: `content[start_char:end_char] == quote`. `number` is the answer's [n]."""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with checked citations, or a refusal that names the nearest documents as `hits`.

    `confidence` estimates the probability that the collection answers the question, 0 to 1 (1 for a curated pair).
    """

    query_id: UUID
    collection: str
    revision: int
    text: str
    source: AnswerSource
    generator: str  # "curated", "extractive"
    cached: bool
    confidence: float
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]
    timings_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One search or ask as it is kept: what was asked, what was found, what became of it and why."""

    query_id: UUID
    kind: Literal["search", "ask"]
    asked: Asked
    revision: int
    source: str
    reason: str
    timings_ms: Mapping[str, float]
    candidates: Candidates | None = None
    picked: Picked = field(default_factory=lambda: Picked(()))
    cited: frozenset[int] = frozenset()
    answer: str | None = None
    citations: tuple[Citation, ...] = ()
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QaPair:
    """A curated question and its answer: a direct hit on the exact normalised question."""

    id: int
    collection: str
    question: str
    answer: str
    state: DocumentState
    created_at: datetime
    updated_at: datetime


# --- questions whose answers are known ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gold:
    """A document that answers a question. `gain` > 0; `quote` is the piece of its text that answers, "" if unknown."""

    source: str
    gain: float = 1.0
    quote: str = ""

    @property
    def item(self) -> str:
        """What a ranking must hold: the passage where its quote is known, else the document."""
        return f"{self.source}: {self.quote}" if self.quote else self.source


@dataclass(frozen=True, slots=True)
class GoldenQuestion:
    """A question and what answers it; no `gold` means that nothing does, and that a refusal is right."""

    id: str
    question: str
    gold: tuple[Gold, ...]
    answer: str | None
    language: str

    @property
    def answerable(self) -> bool:
        """Whether anything answers it."""
        return bool(self.gold)

    def gains(self) -> dict[str, float]:
        """Gain per passage or document."""
        return {gold.item: gold.gain for gold in self.gold}
