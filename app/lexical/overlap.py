"""How much of a question's words a text holds, and how close together they stand. Pure functions over tokens."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from app.lexical import bm25
from app.records import LexicalStatistics

CHUNKS_AT_LEAST = 50  # a word that stands in the only chunk of a collection is not therefore common


def term_weights(statistics: LexicalStatistics) -> dict[str, float]:
    """The share of each of the question's terms in its whole weight (idf times count); the shares sum to 1."""
    live = max(statistics.live_chunks, CHUNKS_AT_LEAST)
    weights = {term.term: term.count * bm25.idf(term.df, live) for term in statistics.terms}
    total = sum(weights.values())
    return {term: weight / total for term, weight in weights.items()}


def coverage(terms: AbstractSet[str], weights: Mapping[str, float]) -> float:
    """The share of the question, by weight, that the terms cover: 0 to 1. Terms of no weight count nothing."""
    return sum(weights[term] for term in sorted(terms & weights.keys()))


def closeness(tokens: Sequence[str], terms: AbstractSet[str]) -> float:
    """Distinct terms of the question over the shortest run of tokens that holds all of them that occur: 0 to 1.

    1 where they stand side by side, 0 where fewer than two occur: one word is close to nothing. Source of the measure:
    Tao and Zhai, An Exploration of Proximity Measures in Information Retrieval, SIGIR 2007 ("MinCover").
    """
    places = [(place, token) for place, token in enumerate(tokens) if token in terms]
    wanted = len({token for _, token in places})
    if wanted < 2:
        return 0.0
    shortest, first, held = len(tokens), 0, Counter[str]()
    for place, token in places:
        held[token] += 1
        while len(held) == wanted:
            start, leaving = places[first]
            shortest, first = min(shortest, place - start + 1), first + 1
            held[leaving] -= 1
            if not held[leaving]:
                del held[leaving]
    return wanted / shortest
