"""Judge how well texts answer a question with a model that reads both. One protocol, one file per backend."""

from collections.abc import Sequence
from typing import Protocol

from app.records import Floats


class Reranker(Protocol):
    """A model that scores pairs of question and text. Safe to call from several threads."""

    @property
    def identity(self) -> str:
        """What makes its scores comparable with others: the model, and where it runs."""
        ...

    def score(self, question: str, texts: Sequence[str]) -> Floats:
        """(n,) finite scores in the order given, higher is better; n may be 0.

        Raises RerankerUnavailable where the backend does not answer in time, RerankingFailed where an answer is
        unusable.
        """
        ...
