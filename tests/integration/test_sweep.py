"""The sweep: its offline rankings are those of a search, and held-out questions have no say in what is chosen."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.evaluate import sweep
from app.evaluate.datasets import read_beir
from app.evaluate.run import load
from app.query import fuse, pipeline
from app.query.timing import Timings
from app.query.understand import understand
from app.records import Floats, Question, Ranking
from app.resources import Resources

TEXTS = {
    "a": "The copper kettle holds 12 litres. It is cleaned with vinegar.",
    "b": "The grinder has eleven settings. Error E-204 means that the hopper is empty.",
    "c": "铜壶的容量是十二升，九分钟烧开。用醋清洗。",
    "d": "Employees have 25 days of leave. Five may be carried into the next year.",
    "e": "A kettle of tin is no kettle for the grinder. It rusts.",
    "f": "The settings of the boiler are locked. Ask for the code.",
}
QUESTIONS = {"q1": ("how is the kettle cleaned", "a"), "q2": ("E-204", "b"), "q3": ("铜壶多久烧开", "c")}


def ignore(what: str, done: int, total: int) -> None:
    assert what
    assert done <= total


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = {
        "corpus.jsonl": [json.dumps({"_id": i, "title": "", "text": text}) for i, text in TEXTS.items()],
        "queries.jsonl": [json.dumps({"_id": i, "text": text}) for i, (text, _) in QUESTIONS.items()],
        "qrels.tsv": ["query-id\tcorpus-id\tscore", *(f"{i}\t{gold}\t1" for i, (_, gold) in QUESTIONS.items())],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    return tmp_path


RANKINGS = st.builds(
    Ranking,
    fusion=st.sampled_from(["minmax_confidence", *sweep.FUSIONS]),
    vector_weight=st.floats(0.1, 1),
    bm25_weight=st.floats(0.1, 1),
    confidence_c0=st.floats(0.1, 1),
    rerank_depth=st.integers(0, 8),
    rerank_weight=st.floats(0, 2),
    rerank_coverage_weight=st.floats(0, 1),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rankings=st.lists(RANKINGS, min_size=1, max_size=3))
def test_a_ranking_computed_offline_is_that_of_a_search(
    rankings: list[Ranking], folder: Path, resources: Resources
) -> None:
    dataset = read_beir(folder)
    cases = sweep.gather(dataset, resources, ignore)
    collection = load(dataset, resources, ignore)
    for case, question in zip(cases, dataset.questions, strict=True):
        for ranking in rankings:
            asked = understand(Question(question.question, collection.name, ranking), collection, resources)
            found = pipeline.find(asked, resources, Timings()).candidates
            offline = sweep.reranked(case, fuse.weighted(case.recalled, ranking), ranking)
            assert offline.rank.tolist() == found.rank.tolist()
            assert offline.score == pytest.approx(found.score, abs=1e-12)


def test_scores_are_those_of_each_questions_documents(folder: Path, resources: Resources) -> None:
    cases = sweep.gather(read_beir(folder), resources, ignore)
    found = sweep.scores(cases, [Ranking(), Ranking(rerank_weight=0.0)], ignore)
    assert found[Ranking()].tolist() == [1.0, 1.0, 1.0]
    assert set(found) == {Ranking(), Ranking(rerank_weight=0.0)}


def test_the_grid_begins_with_the_default_and_repeats_nothing() -> None:
    points = sweep.grid()
    assert points[0] == Ranking()
    assert len(set(points)) == len(points)
    assert all(pytest.approx(point.vector_weight + point.bm25_weight) == 1 for point in points)


# --- choosing -----------------------------------------------------------------------------------------------------

OTHER = replace(Ranking(), rerank_weight=7.0)
THIRD = replace(Ranking(), rerank_weight=8.0)


def table(**sets: tuple[Floats, Floats, Floats]) -> sweep.Table:
    return {name: dict(zip((Ranking(), OTHER, THIRD), rows, strict=True)) for name, rows in sets.items()}


def test_what_is_best_on_the_other_sets_is_reported_on_the_one_left_out() -> None:
    flat, low = np.full(40, 0.5), np.full(40, 0.2)
    choices = {
        one.held_out: one
        for one in sweep.leave_one_set_out(table(x=(flat, flat + 0.3, low), y=(flat, low, flat + 0.1)))
    }
    assert choices["x"].chosen == THIRD
    assert [choices["x"].default, choices["x"].ndcg] == pytest.approx([0.5, 0.2])
    assert choices["x"].difference.value == pytest.approx(-0.3)
    assert choices["y"].chosen == OTHER


def test_one_set_alone_cannot_be_left_out() -> None:
    assert list(sweep.leave_one_set_out(table(x=(np.ones(9), np.ones(9), np.ones(9))))) == []


def test_every_question_is_held_out_once_and_has_no_say_then() -> None:
    n = 50
    seen = []
    for question in range(n):
        # without this one question both are equal, and the default comes first; with it, the other one wins
        spoilt = np.zeros(n)
        spoilt[question] = 1.0
        choices = list(sweep.cross_validated(table(x=(np.zeros(n), spoilt, np.zeros(n)))))
        seen.append([one.chosen for one in choices].count(Ranking()))
        assert len(choices) == sweep.FOLDS
    assert seen == [1] * n


def test_of_equals_the_default_is_chosen() -> None:
    same = np.linspace(0, 1, 30)
    assert sweep.best(table(x=(same, same, same))) == Ranking()
    assert sweep.changes(Ranking()) == {}
    assert sweep.changes(OTHER) == {"rerank_weight": 7.0}
