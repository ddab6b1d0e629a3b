"""200 texts that a tokenizer or a model may trip over: Chinese, English, mixed, code, digits, rare signs."""

import json
from pathlib import Path

_FILE = Path(__file__).resolve().parent / "data" / "mixed_texts.jsonl"


def mixed_texts(*kinds: str) -> list[str]:
    """All of them, or those of some kinds."""
    entries = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
    return [entry["text"] for entry in entries if not kinds or entry["kind"] in kinds]
