"""What callers send. The same models validate and make the OpenAPI document.

Bodies are strict: "5", 5.5 and true are no integers. Paths and queries arrive as text, so theirs are converted.
A field that may be left out has no null: leaving it out takes the service's own setting.
"""

from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from flask_openapi3.models.file import FileStorage
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, field_validator, model_validator
from pydantic_core import PydanticCustomError
from werkzeug.datastructures import FileStorage as SentFile

from app.api.filters import FiltersBody, FiltersText
from app.api.texts import BIGINT_MAX, CollectionName, Id, Line, Metadata, SourceName, Text, source_name
from app.ingest import formats
from app.records import DocumentState, FusionName, Question, Ranking, RerankerName, Source

_DEFAULTS = Ranking()


def _example(value: Any) -> dict[str, Any]:
    return {"example": value}


def _setting(schema: dict[str, Any]) -> None:
    """The default in the code is not what a caller gets: that one is in the service's settings."""
    schema.pop("default", None)


Collection = Annotated[
    CollectionName,
    Field(description="Collection; left out: that of the setting COLLECTION", json_schema_extra=_setting),
]
Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Body(BaseModel):
    """A JSON body."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Parameters(BaseModel):
    """Parts of a URL."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# --- documents ----------------------------------------------------------------------------------------------------


TEXTS = [made.media_type for made in formats.FORMATS if not made.binary]


def _is_text(media_type: str) -> str:
    if media_type not in TEXTS:
        raise PydanticCustomError("media_type", "is none of {known}", {"known": ", ".join(TEXTS)})
    return media_type


MediaType = Annotated[str, AfterValidator(_is_text), WithJsonSchema({"enum": TEXTS, "type": "string"})]


class DocumentBody(Body):
    """One document as text."""

    collection: Collection = ""
    source: SourceName = Field(
        description="The document's name within its collection: the same source again replaces it",
        json_schema_extra=_example("handbook/travel.md"),
    )
    text: Text = Field(json_schema_extra=_example("# Travel\n\nTrains are booked in second class."))
    title: Annotated[Text, Field(max_length=500, description="Left out: the first heading, or the source")] = Field(
        "", json_schema_extra=_setting
    )
    media_type: MediaType = "text/plain"
    metadata: Metadata = Field({}, json_schema_extra=_example({"department": "HR"}))

    def to_source(self) -> Source:
        """The document as the caller named it."""
        return Source(self.source, self.title, self.media_type, self.text, self.metadata)


class Upload(Parameters):
    """One or more files as multipart/form-data."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    collection: Collection = ""
    file: Annotated[list[FileStorage], Field(min_length=1, description="A file; its name becomes the source")]

    @field_validator("file", mode="before")
    @classmethod
    def _files(cls, value: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(file, SentFile) for file in value):
            raise PydanticCustomError("no_file", "is not a file with a name")
        for file in value:
            source_name(file.filename or "")
        return value


class DocumentPatch(Body):
    """Disabled: kept, but no search finds it."""

    state: DocumentState


class DocumentPath(Parameters):
    document_id: Id


class Named(Parameters):
    collection: Collection = ""


class PendingPath(Parameters):
    pending_id: Id


class Page(Named):
    after: int = Field(0, ge=0, le=BIGINT_MAX, description="Id of the last one seen")
    limit: int = Field(100, ge=1, le=500)


class ChunkPage(Parameters):
    after: int = Field(-1, ge=-1, le=2**31 - 1, description="Ordinal of the last one seen")
    limit: int = Field(100, ge=1, le=500)


class VersionRange(Parameters):
    since: int | None = Field(None, ge=1, le=2**31 - 1, description="The earlier version; none: the one before `until`")
    until: int | None = Field(None, ge=1, le=2**31 - 1, description="The later version; none: the newest")


class CollectionPath(Parameters):
    name: CollectionName


# --- questions ----------------------------------------------------------------------------------------------------


class RankedBody(Body):
    """A question and how to rank. What is left out is taken from the service's settings."""

    question: Text = Field(max_length=100_000, json_schema_extra=_example("出差可以坐商務艙嗎?"))
    collection: Collection = ""
    top_k: int = Field(_DEFAULTS.top_k, ge=1, le=100, description="Hits returned", json_schema_extra=_setting)
    candidates: int = Field(
        _DEFAULTS.candidates, ge=1, le=1_000, description="Taken from each recall path", json_schema_extra=_setting
    )
    fusion: FusionName = Field(
        _DEFAULTS.fusion, description="How the scores of both paths become one", json_schema_extra=_setting
    )
    vector_weight: Ratio = Field(_DEFAULTS.vector_weight, json_schema_extra=_setting)
    bm25_weight: Ratio = Field(_DEFAULTS.bm25_weight, json_schema_extra=_setting)
    confidence_c0: float = Field(
        _DEFAULTS.confidence_c0, ge=0.01, le=1, allow_inf_nan=False, description="Share of the reachable BM25 at which "
        "the BM25 path has its full weight", json_schema_extra=_setting,
    )  # fmt: skip
    rrf_k: int = Field(
        _DEFAULTS.rrf_k, ge=1, le=1_000, description="Ranks count as 1 / (rrf_k + rank) in rrf and weighted_rrf",
        json_schema_extra=_setting,
    )  # fmt: skip
    k1: float = Field(_DEFAULTS.k1, ge=0, le=10, allow_inf_nan=False, json_schema_extra=_setting)
    b: Ratio = Field(_DEFAULTS.b, json_schema_extra=_setting)
    reranker: RerankerName = Field(
        _DEFAULTS.reranker, description="What reranks the best fused candidates", json_schema_extra=_setting
    )
    rerank_depth: int = Field(
        _DEFAULTS.rerank_depth, ge=0, le=200, description="Fused candidates reranked; 0: none",
        json_schema_extra=_setting,
    )  # fmt: skip
    rerank_weight: float = Field(_DEFAULTS.rerank_weight, ge=0, le=10, allow_inf_nan=False, json_schema_extra=_setting)
    rerank_coverage_weight: Ratio = Field(
        _DEFAULTS.rerank_coverage_weight, description="What a chunk's share of the question's words adds to its best "
        "span's cosine", json_schema_extra=_setting,
    )  # fmt: skip
    rerank_min_score: float = Field(
        0.0, allow_inf_nan=False, description="Least rerank score of a hit, on the reranker's scale; left out: that of "
        "the setting, or any", json_schema_extra=_setting,
    )  # fmt: skip
    collapse_duplicates: bool = Field(
        _DEFAULTS.collapse_duplicates,
        description="Return one of several near duplicates, and the others as its also_found_in",
    )
    expand_tokens: int = Field(
        _DEFAULTS.expand_tokens, ge=0, le=8_000, description="Budget of the passage that each hit grows to, "
        "in tokens; hits that share one are merged; 0: chunks as they are", json_schema_extra=_setting,
    )  # fmt: skip
    filters: FiltersBody = Field(FiltersBody(), json_schema_extra=_setting)

    def to_question(self, collection: str, ranking: Ranking) -> Question:
        """The question with the settings' collection and ranking where the caller named none."""
        given = self.model_dump(include=_RANKING, exclude_unset=True)
        ranking, filters = replace(ranking, **given), self.filters.to_filters()
        return Question(self.question, self.collection or collection, ranking, filters)


_RANKING = {name for name in RankedBody.model_fields if hasattr(_DEFAULTS, name)}


class SearchBody(RankedBody):
    """A question whose passages are wanted."""

    explain: bool = Field(False, description="true: say of every score how it came about")

    def to_question(self, collection: str, ranking: Ranking) -> Question:
        """The question, with whether the search is to be explained."""
        return replace(super().to_question(collection, ranking), explain=self.explain)


class SearchQuery(SearchBody):
    """The same in a URL."""

    model_config = ConfigDict(strict=False)

    filters: FiltersText = Field(
        FiltersBody(), description="One JSON object, as in the body of a POST", json_schema_extra=_setting
    )


class AskBody(RankedBody):
    """A question to answer."""

    use_cache: bool = Field(True, description="false: neither read nor keep a cached answer")

    def to_question(self, collection: str, ranking: Ranking) -> Question:
        """The question, with what the caller said of the cache."""
        return replace(super().to_question(collection, ranking), use_cache=self.use_cache)


class QueryPath(Parameters):
    query_id: UUID


# --- curated pairs ------------------------------------------------------------------------------------------------

PairQuestion = Annotated[Text, Field(max_length=500)]
PairAnswer = Annotated[Text, Field(max_length=100_000)]


class QaPairBody(Body):
    """A curated question and its answer."""

    collection: Collection = ""
    question: PairQuestion = Field(json_schema_extra=_example("退货期限是多久?"))
    answer: PairAnswer = Field(json_schema_extra=_example("七天。"))


class QaPairPatch(Body):
    """What is given replaces what is there."""

    question: PairQuestion = Field("", json_schema_extra=_setting)
    answer: PairAnswer = Field("", json_schema_extra=_setting)
    state: DocumentState = Field("active", json_schema_extra=_setting)

    @model_validator(mode="after")
    def _something(self) -> "QaPairPatch":
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "names nothing to change: question, answer or state")
        return self

    def given(self, field: str) -> Any:
        """The value of a field, None where it was left out."""
        return getattr(self, field) if field in self.model_fields_set else None


class QaPairPath(Parameters):
    qa_pair_id: Id


# --- words --------------------------------------------------------------------------------------------------------

Word = Annotated[Line, Field(max_length=200)]


class LexiconBody(Body):
    """User words are one token each wherever they are written, stop words are left out."""

    collection: Collection = ""
    all_collections: bool = Field(False, description="true: the words of all collections, and no collection is named")
    kind: Literal["user_word", "stopword"]
    terms: Annotated[list[Word], Field(min_length=1, max_length=1_000)] = Field(
        json_schema_extra=_example(["黛峰烘豆机"])
    )

    @model_validator(mode="after")
    def _one_scope(self) -> "LexiconBody":
        if self.all_collections and self.collection:
            raise PydanticCustomError("scope", "all_collections and collection exclude each other")
        return self


class LexiconPage(Page):
    """Without a collection: the words of every one."""


class LexiconPath(Parameters):
    entry_id: Id
