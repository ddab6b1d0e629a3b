"""People's own words: user words, which are one token each, and stop words, which are left out.

What is changed here shows when the collections' indexes have been made anew with it (`app.ingest.retokenize`).
"""

from collections.abc import Iterable, Sequence

from app.db import collections, lexicon
from app.db.lexicon import Kind
from app.errors import InvalidInput
from app.lexical.tokens import TOKEN_MAX_CHARS, tokens, whole_tokens
from app.lexical.word_list import written
from app.resources import Resources

WORDS_MAX = 20_000  # of a kind, of one collection: they are read and compared as one list


def add(kind: Kind, terms: Iterable[str], collection: str | None, resources: Resources) -> list[str]:
    """Enter words of a collection, or of all. Returns those that were new, as they are looked for.

    Raises InvalidInput, CollectionNotFound.
    """
    words = list(dict.fromkeys(_checked(kind, term) for term in terms))
    with resources.database.write() as connection:
        collection_id = collections.get(connection, collection).id if collection else None
        new = lexicon.insert(connection, collection_id, kind, words)
        if lexicon.count(connection, collection_id, kind) > WORDS_MAX:
            raise InvalidInput("terms", f"there would be more than {WORDS_MAX} words of this kind")
    return new


def remove(kind: Kind, terms: Iterable[str], collection: str | None, resources: Resources) -> list[str]:
    """Remove words of a collection, or of all. Returns those that were there. Raises CollectionNotFound."""
    words = [written(term.encode(errors="replace").decode()) for term in terms]  # half a surrogate pair is no word
    with resources.database.write() as connection:
        collection_id = collections.get(connection, collection).id if collection else None
        return lexicon.delete(connection, collection_id, kind, words)


def remove_entry(entry_id: int, resources: Resources) -> None:
    """Remove one word. Raises NotFound."""
    with resources.database.write() as connection:
        lexicon.delete_entry(connection, entry_id)


def pending(resources: Resources) -> Sequence[str]:
    """The collections whose index is not yet made with the words as they are, or by this version."""
    with resources.database.read() as connection:
        return [state.collection for state in lexicon.states(connection) if not state.current]


def _checked(kind: Kind, term: str) -> str:
    try:
        term.encode()
    except UnicodeEncodeError as e:
        raise InvalidInput("terms", f"{term!r} contains half of a surrogate pair") from e
    word = written(term)
    if not any(character.isalnum() for character in word) and not tokens(word):
        raise InvalidInput("terms", f"{term!r} has no letter or digit")
    if "\0" in word:
        raise InvalidInput("terms", f"{term!r} contains a NUL")
    if word.startswith("#"):
        raise InvalidInput("terms", f"{term!r} begins with #, which marks pairs of characters in the index")
    if len(word) > TOKEN_MAX_CHARS:
        raise InvalidInput("terms", f"{term[:TOKEN_MAX_CHARS]!r}… is longer than {TOKEN_MAX_CHARS} characters")
    if kind == "stopword" and not whole_tokens(word):
        raise InvalidInput("terms", f"{term!r} is not one word; leave out each of its words instead")
    return word
