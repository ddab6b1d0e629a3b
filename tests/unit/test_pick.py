"""Picking: the best of each group of duplicates, whatever order the reranker made."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.db.documents import ChunkDetail
from app.query import fuse, pick
from app.query.duplicates import leaders
from app.query.head import Head
from app.records import Candidates, LexicalStatistics, Ranking, Recalled

TEXTS = st.lists(st.sampled_from(["one text", "another text", "a third text", "a text of its own"]), min_size=1)


def candidates(scores: list[float]) -> Candidates:
    n = len(scores)
    ids, zeros, ranks = np.arange(1, n + 1), np.zeros(n), np.zeros(n, np.int64)
    recalled = Recalled(1, ids, zeros, zeros, zeros, ranks, ranks, LexicalStatistics(n, 1.0, (), 0.0), {}, zeros > 0)
    score = np.array(scores)
    order = fuse.ranks(score, ids)
    unknown = np.full(n, np.nan)
    return Candidates(recalled, zeros, zeros, 0.0, score, order, unknown, unknown, score, order)


def head(texts: list[str]) -> Head:
    chunks = {n: ChunkDetail(n, n, f"s{n}", "", "", 0, len(text), text, "") for n, text in enumerate(texts, 1)}
    leads = {n: 1 + lead for n, lead in enumerate(leaders(texts, np.zeros(len(texts)), ""), 1)}
    return Head(tuple(chunks), chunks, {}, leads, {}, {})


@given(TEXTS, st.integers(1, 5), st.data())
def test_each_text_is_a_hit_once_at_its_best_rank(texts: list[str], top_k: int, data: st.DataObject) -> None:
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=len(texts), max_size=len(texts)))
    made = candidates(scores)
    picked = pick.top(made, head(texts), Ranking(top_k=top_k))
    by_rank = [texts[n] for n in made.rank.argsort()]
    assert [hit.text for hit in picked.hits] == list(dict.fromkeys(by_rank))[:top_k]
    assert [hit.rank for hit in picked.hits] == list(range(1, len(picked.hits) + 1))
    for hit in picked.hits:
        ranks = [int(made.rank[hit.chunk_id - 1]), *(also.rank for also in hit.also_found_in)]
        assert ranks == sorted(int(made.rank[n]) for n, text in enumerate(texts) if text == hit.text)
        assert all(also.resemblance == 1.0 for also in hit.also_found_in)
        assert all(picked.collapses[also.chunk_id].into == hit.chunk_id for also in hit.also_found_in)
    assert len(picked.collapses) == sum(len(hit.also_found_in) for hit in picked.hits)
