"""Vectors without their language: the model's real weights on texts that say the same in two languages."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.embedder import centring
from app.clients.embedder.builtin import IDENTITY, BuiltinEmbedder
from app.records import Vectors

TOLERANCE = 1e-6
QUESTIONS = (  # in both languages, each with the passages that answer it
    ("灯塔的灯多久换一次？", "How often is the lamp of the lighthouse replaced?"),
    ("面团要发酵几个小时？", "How many hours must the dough rise?"),
    ("谁可以借阅档案？", "Who may borrow the archive's files?"),
    ("桥什么时候封闭维修？", "When is the bridge closed for repair?"),
    ("蜜蜂冬天吃什么？", "What do the bees eat in winter?"),
    ("电梯最多能载多少公斤？", "How many kilograms may the lift carry?"),
    ("船员遇到大雾怎么办？", "What does the crew do in thick fog?"),
    ("图书馆星期天开门吗？", "Is the library open on Sundays?"),
)
PASSAGES = (
    ("灯塔的主灯每两年更换一次，备用灯每年检查。", "The main lamp of the lighthouse is replaced every two years."),
    ("面团在温暖处发酵三小时，体积翻倍后再整形。", "The dough rises for three hours in a warm place and doubles."),
    ("只有持证研究人员可以借阅馆藏档案。", "Only registered researchers may borrow files from the archive."),
    ("每年四月的第二周，大桥封闭进行维修。", "The bridge is closed for repair in the second week of April."),
    ("冬天蜂群靠蜂蜜和糖水过冬。", "In winter the colony lives on honey and sugar syrup."),
    ("货梯的最大载重为八百公斤。", "The goods lift carries eight hundred kilograms at most."),
    (
        "遇到大雾，船员减速并每两分钟鸣笛一次。",
        "In thick fog the crew slows down and sounds the horn every two minutes.",
    ),
    ("图书馆星期天上午十点到下午四点开放。", "The library opens on Sundays from ten until four."),
)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> BuiltinEmbedder:
    return BuiltinEmbedder(tmp_path_factory.mktemp("model"), threads=2)


def first_across_languages(questions: tuple[Vectors, Vectors], passages: tuple[Vectors, Vectors]) -> float:
    """The share of questions whose answer comes first where it stands in the other language and every other passage
    in the question's own."""
    found = [
        int((np.where(np.arange(n)[:, None] == at, passages[1 - own], passages[own]) @ questions[own][at]).argmax())
        == at
        for own in (0, 1)
        for n in (len(PASSAGES),)
        for at in range(n)
    ]
    return float(np.mean(found))


def test_an_answer_is_found_in_the_other_language_among_passages_of_the_questions_own(
    embedder: BuiltinEmbedder,
) -> None:
    texts = ([q[0] for q in QUESTIONS], [q[1] for q in QUESTIONS], [p[0] for p in PASSAGES], [p[1] for p in PASSAGES])
    made = [embedder.embed_questions(t) if n < 2 else embedder.embed_passages(t) for n, t in enumerate(texts)]
    prefixes = (IDENTITY.query_prefix, IDENTITY.query_prefix, IDENTITY.passage_prefix, IDENTITY.passage_prefix)
    plain = [embedder._engine.encode(t, prefix) for t, prefix in zip(texts, prefixes, strict=True)]
    centred_share = first_across_languages((made[0], made[1]), (made[2], made[3]))
    plain_share = first_across_languages((plain[0], plain[1]), (plain[2], plain[3]))
    assert centred_share >= 0.8
    assert centred_share > plain_share + 0.3


def test_centring_makes_the_two_languages_means_meet(embedder: BuiltinEmbedder) -> None:
    chinese, english = (embedder.embed_passages([p[n] for p in PASSAGES]).mean(axis=0) for n in (0, 1))
    prefix = IDENTITY.passage_prefix
    plain = [embedder._engine.encode([p[n] for p in PASSAGES], prefix).mean(axis=0) for n in (0, 1)]
    assert np.linalg.norm(chinese - english) < 0.7 * np.linalg.norm(plain[0] - plain[1])


@given(st.text())
def test_the_shares_of_any_text_sum_to_one(text: str) -> None:
    shares = centring.language_shares(text)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        ("如何声明路径参数", 0),
        ("How to declare a path", 1),
        ("Wie heißt das Gerät?", 1),
        ("これはペンです", 2),
        ("12 + 7", 2),
    ],
)
def test_the_largest_share_is_the_texts_own_language(text: str, largest: int) -> None:
    assert int(np.argmax(centring.language_shares(text))) == largest


def test_a_mixed_text_lies_between_its_languages() -> None:
    chinese, english, _ = centring.language_shares("在 FastAPI 中用 HTTPException 返回错误")
    assert 0.2 < chinese < 0.8
    assert 0.2 < english < 0.8


def test_the_means_are_whole_and_of_the_models_size() -> None:
    means = np.load(Path(centring.__file__).with_name("language_means.npy"))
    assert means.shape == (2, 2, IDENTITY.dim)
    assert np.isfinite(means).all()
    assert (np.linalg.norm(means, axis=2) < 1 + TOLERANCE).all()
