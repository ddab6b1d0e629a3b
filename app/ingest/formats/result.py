"""What a format's reader makes of a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Read:
    """A file's text as Markdown, or as plain text. `pages`: where each page begins in it, ascending from 0.

    `title` is what the file says of itself. `warnings` name what could not be read of it.
    """

    text: str
    title: str = ""
    pages: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()


def of_pages(texts: list[str], *, title: str = "", warnings: tuple[str, ...] = ()) -> Read:
    """Pages one after the other, an empty line between them."""
    pages, length = [], 0
    for text in texts:
        pages.append(length)
        length += len(text) + 2
    return Read("\n\n".join(texts), title, tuple(pages), warnings)
