"""Windows of whole sentences."""

from app.ingest.split.sentences import pieces
from app.ingest.split.text import Range


def windows(content: str, start: int, end: int, size: int, overlap: int) -> list[Range]:
    """Fill windows of at most `size` characters with whole sentences.

    A window repeats the last sentences of the one before, as many as `overlap` characters hold. A sentence longer
    than `size` is cut.
    """
    parts = pieces(content, start, end, size)
    found: list[Range] = []
    first = 0
    while first < len(parts):
        after = first + 1
        while after < len(parts) and parts[after][1] - parts[first][0] <= size:
            after += 1
        found.append((parts[first][0], parts[after - 1][1]))
        if after == len(parts):
            break
        first = _overlap_start(parts, first, after, size, overlap)
    return found


def _overlap_start(parts: list[Range], first: int, after: int, size: int, overlap: int) -> int:
    start = after
    while (
        start - 1 > first
        and parts[after - 1][1] - parts[start - 1][0] <= overlap
        and parts[after][1] - parts[start - 1][0] <= size
    ):
        start -= 1
    return start
