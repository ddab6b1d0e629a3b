"""Words that decide how text becomes tokens: those that people entered, and those in effect.

A collection's words in effect are an immutable row of `word_list`, named by the collection. What people change shows
when the index has been made anew with it (`app.ingest.retokenize`).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from cachetools import LRUCache

from app.db.pool import Db
from app.db.sql import statement
from app.errors import Conflict, NotFound
from app.lexical.tokens import tokenizer
from app.records import NO_WORDS, WordList

Kind = Literal["user_word", "stopword"]

# by digest, which says all of it: whichever database it came from
_kept: LRUCache[str, WordList] = LRUCache(16)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Entry:
    """A word as it was entered; of all collections where it names none."""

    id: int
    kind: Kind
    term: str
    collection: str | None


@dataclass(frozen=True, slots=True)
class State:
    """What a collection's index is made with, and with which words it should be."""

    collection_id: int
    collection: str
    in_effect: str | None
    wanted: str | None
    tokenizers: tuple[str, ...]

    @property
    def current(self) -> bool:
        """Whether every segment is made by this version's tokenizer with the words that people want."""
        return self.in_effect == self.wanted and set(self.tokenizers) <= {tokenizer(WordList(self.wanted or ""))}


def insert(connection: Db, collection_id: int | None, kind: Kind, terms: Sequence[str]) -> list[str]:
    """Enter words of one collection, or of all. Returns those that were new."""
    values = {"collection_id": collection_id, "kind": kind, "terms": list(terms)}
    return [row[1] for row in connection.execute(statement("lexicon", "insert"), values)]


def delete(connection: Db, collection_id: int | None, kind: Kind, terms: Sequence[str]) -> list[str]:
    """Remove words of one collection, or of all. Returns those that were there."""
    values = {"collection_id": collection_id, "kind": kind, "terms": list(terms)}
    return [row[0] for row in connection.execute(statement("lexicon", "delete"), values)]


def delete_entry(connection: Db, entry_id: int) -> None:
    """Remove one word. Raises NotFound."""
    if connection.execute(statement("lexicon", "delete_entry"), {"entry_id": entry_id}).fetchone() is None:
        raise NotFound(f"the lexicon has no word with the id {entry_id}")


def count(connection: Db, collection_id: int | None, kind: Kind) -> int:
    """How many words of a kind one collection has of its own, or all have."""
    values = {"collection_id": collection_id, "kind": kind}
    return cast(tuple[int], connection.execute(statement("lexicon", "count"), values).fetchone())[0]


def listed(connection: Db, collection_id: int | None, *, after: int, limit: int) -> list[Entry]:
    """A page of the words of a collection and of all, by id; without a collection those of every one."""
    values = {"collection_id": collection_id, "after": after, "limit": limit}
    return [Entry(*row) for row in connection.execute(statement("lexicon", "list"), values)]


def states(connection: Db, collection_id: int | None = None) -> list[State]:
    """The state of a collection, or of all, by id."""
    rows = connection.execute(statement("lexicon", "states"), {"collection_id": collection_id})
    return [State(row[0], row[1], row[2], row[3], tuple(row[4])) for row in rows]


def wanted(connection: Db, collection_id: int | None) -> WordList:
    """The words that a collection should be tokenised with; without one, a collection that has none of its own."""
    row: Any = connection.execute(statement("lexicon", "wanted"), {"collection_id": collection_id}).fetchone()
    user_words, stop_words, sha256 = row
    return WordList(sha256, tuple(user_words), tuple(stop_words)) if user_words or stop_words else NO_WORDS


def words(connection: Db, sha256: str | None) -> WordList:
    """The words of a digest; none without one."""
    if sha256 is None:
        return NO_WORDS
    with _lock:
        known = _kept.get(sha256)
    if known is None:
        row: Any = connection.execute(statement("lexicon", "words"), {"sha256": sha256}).fetchone()
        known = WordList(sha256, tuple(row[0]), tuple(row[1]))
        with _lock:
            _kept[sha256] = known
    return known


def keep(connection: Db, words: WordList) -> None:
    """Write words under their digest, where they are new."""
    if words.sha256:
        values = {"sha256": words.sha256, "user_words": list(words.user_words), "stop_words": list(words.stop_words)}
        connection.execute(statement("lexicon", "keep"), values)


def in_effect(connection: Db, collection_id: int) -> WordList:
    """The words that a collection's index is made with; none where it was deleted."""
    row = connection.execute(statement("lexicon", "in_effect"), {"collection_id": collection_id}).fetchone()
    return words(connection, row[0] if row else None)


def require(connection: Db, collection_id: int, words: WordList) -> None:
    """Raises Conflict where other words are in effect by now. The caller holds the collection's lock."""
    if in_effect(connection, collection_id) != words:
        raise Conflict("the words of the collection changed meanwhile")


def put_in_effect(connection: Db, collection_id: int, words: WordList) -> None:
    """Name the words that the index is made with from now on. The caller holds the collection's lock."""
    connection.execute(
        statement("lexicon", "put_in_effect"), {"collection_id": collection_id, "sha256": words.sha256 or None}
    )


def await_compaction(connection: Db, collection_id: int) -> None:
    """Wait until nobody else writes the collection's index anew, and keep others from it until the transaction ends."""
    connection.execute(statement("lexicon", "await_compaction"), {"collection_id": collection_id})
