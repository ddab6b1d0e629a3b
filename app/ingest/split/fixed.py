"""Windows of a fixed size: for text without structure, and the last resort of the other splitters."""

from app.ingest.split.text import Range, cut, settle, skip_space, trim


def windows(content: str, start: int, end: int, size: int, overlap: int) -> list[Range]:
    """Cut [start, end) into windows of at most `size` characters, each beginning up to `overlap` before the last's end.

    Requires overlap < size, so that every window reaches further than the one before.
    """
    found: list[Range] = []
    start, reached = skip_space(content, start, end), start
    while start < end:
        limit = start + size
        stop = end if limit >= end else cut(content, start, limit, max(reached, start) + 1)
        window = trim(content, start, stop)
        if window[1] > reached:
            found.append(window)
        reached = stop
        if stop >= end:
            break
        start = skip_space(content, _overlap_start(content, start, stop, overlap), end)
    return found


def _overlap_start(content: str, start: int, stop: int, overlap: int) -> int:
    """Where the next window begins: at a word where the overlap holds one."""
    low = max(stop - overlap, start + 1)
    if low >= stop or content[low - 1].isspace():
        return low
    for position in range(low, stop):
        if content[position].isspace():
            return position
    return max(settle(content, low, start + 1), start + 1)
