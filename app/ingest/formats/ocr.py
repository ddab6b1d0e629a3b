"""The text of pictures of pages. Library: rapidocr (Apache-2.0, the extra `ocr`): its wheel carries PP-OCR's models."""

import importlib.util
import statistics
import threading
from functools import cache
from typing import Any, NamedTuple

LEAST_CONFIDENCE = 0.5  # of a line: below, it is more often a drawing than text
_ENGINE = threading.Lock()


class Recognised(NamedTuple):
    """Lines from top to bottom, and the mean confidence of them; 0 where there are none."""

    text: str
    confidence: float


def is_installed() -> bool:
    """Whether the extra is there."""
    return importlib.util.find_spec("rapidocr") is not None


def recognise(picture: Any) -> Recognised:
    """`picture` is (height, width, 3), blue first, 200 dots an inch."""
    with _ENGINE:
        found = _engine()(picture)
    if not found.txts:
        return Recognised("", 0.0)
    pieces = [
        (box[:, 1].mean(), box[:, 0].min(), box[:, 1].max() - box[:, 1].min(), text, score)
        for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True)
        if score >= LEAST_CONFIDENCE
    ]
    lines: list[list[tuple[float, str]]] = []
    reached = float("-inf")
    for middle, left, height, text, _ in sorted(pieces, key=lambda piece: piece[0]):
        if middle > reached:
            lines.append([])
            reached = middle + height / 2
        lines[-1].append((left, text))
    made = "\n".join(" ".join(text for _, text in sorted(line)) for line in lines)
    return Recognised(made, statistics.mean(piece[4] for piece in pieces) if pieces else 0.0)


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error"})
