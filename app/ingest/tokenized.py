"""The tokens of one document's chunks, made outside any transaction and once, however often it is written again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.lexical import segments
from app.lexical.segments import Segment
from app.lexical.tokens import tokens
from app.records import NO_WORDS, WordList


@dataclass
class Tokenized:
    """Token lists by text, of one list of words."""

    words: WordList = NO_WORDS
    lists: dict[str, list[str]] = field(default_factory=dict)

    def prepare(self, texts: Iterable[str], words: WordList) -> None:
        """Make what is not there yet."""
        if words != self.words:
            self.words, self.lists = words, {}
        self.lists |= {text: tokens(text, words) for text in dict.fromkeys(texts) if text not in self.lists}

    def segment(self, texts: Mapping[int, str]) -> Segment:
        """Index chunks, given as {chunk id: text}, of texts that were prepared."""
        return segments.build({chunk_id: self.lists[text] for chunk_id, text in texts.items()})
