"""Heading labels without their markup, and the heading path of a place in a document."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.ingest.split.blocks import Block

_LABEL_CHARS = 200
_RAW_CHARS = 1_000
_ANCHOR = re.compile(r"\{[ ]?[#.:][^{}]*\}\s*\Z")
_CODE = re.compile(r"(`+[^`]*`+)")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
_EMPHASIS = re.compile(
    r"(?<!\\)(\*{1,3}|~~)(?=\S)(.+?)(?<=[^\s\\])\1|(?<![\w\\])(_{1,3})(?=\S)(.+?)(?<=[^\s\\])\3(?!\w)"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")

Path = tuple[str, ...]


def plain_label(raw: str) -> str:
    """What a reader sees of a heading: no anchor, link target, tag, emphasis or backtick; at most 200 characters."""
    raw = _LINK.sub(r"\1", _ANCHOR.sub("", raw[:_RAW_CHARS]))
    parts = _CODE.split(raw)
    shown = [part.strip("`") if index % 2 else _without_markup(part) for index, part in enumerate(parts)]
    return " ".join("".join(shown).split())[:_LABEL_CHARS].rstrip()


def _without_markup(text: str) -> str:
    text = _EMPHASIS.sub(lambda match: match[2] or match[4], _TAG.sub("", text))
    return html.unescape(_ESCAPE.sub(r"\1", text))


@dataclass(frozen=True, slots=True)
class Outline:
    """The heading path at each heading of a document. `starts` ascend; before the first the path is empty.

    A heading with no text before its first subsection has that one's path: nothing else stands under it there.
    """

    starts: Sequence[int]
    paths: Sequence[Path]

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> "Outline":
        starts: list[int] = []
        paths: list[Path] = []
        open_headings: list[tuple[int, str]] = []
        bare = 0  # how many of the last headings are followed by a deeper one only
        for block in blocks:
            if not block.level:
                bare = 0
            else:
                if open_headings and open_headings[-1][0] >= block.level:
                    bare = 0
                while open_headings and open_headings[-1][0] >= block.level:
                    open_headings.pop()
                open_headings.append((block.level, plain_label(block.label)))
                starts.append(block.start)
                paths.append(tuple(label for _, label in open_headings if label))
                bare += 1
                paths[-bare:] = [paths[-1]] * bare
        return cls(starts, paths)

    def path(self, start: int, end: int) -> Path:
        """The deepest heading path that holds all of [start, end)."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        shared = self.paths[first] if first >= 0 else ()
        for path in self.paths[max(first, 0) : last + 1]:
            shared = common(shared, path)
        return shared


def common(one: Path, other: Path) -> Path:
    """The headings that both paths begin with."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return one[:same]
