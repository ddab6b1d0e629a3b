"""Files and uploads to sources: decoding, titles, front matter. What cannot be read is refused by name."""

import math
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from app.errors import UnreadableDocument
from app.ingest import archives, formats
from app.ingest.formats.result import Read
from app.ingest.front_matter import read_front_matter
from app.ingest.split.blocks import front_matter, read_blocks
from app.ingest.split.headings import plain_label
from app.records import Source
from app.settings import Settings

_SOURCE_CHARS = 500  # a name is indexed: PostgreSQL takes 2,704 bytes, and a character has up to four
_TITLE_CHARS = 500
_CONTROLS = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f]")  # not white space, not the escape of coloured logs
_BINARY_SHARE = 0.05


def documents(source: str, raw: bytes, settings: Settings) -> Iterator[tuple[str, Source | UnreadableDocument]]:
    """Every document of a file, by source: its own, or an archive's members. What is wrong comes in its place."""
    files: Iterable[archives.Member] = [(source, raw)]
    if len(raw) > (most := _most_bytes(source, settings)):
        yield source, UnreadableDocument(f"{source}: larger than {most} bytes")
        return
    try:
        if archives.is_archive(raw, source):
            files = archives.members(raw, source, settings.archive_max_bytes, settings.document_max_bytes)
        for name, content in files:
            yield name, content if isinstance(content, UnreadableDocument) else _read(name, content, settings)
    except UnreadableDocument as e:
        yield source, e


def of_file(path: Path, source: str, settings: Settings) -> Iterator[tuple[str, Source | UnreadableDocument]]:
    """The same of a file on this machine."""
    try:
        raw = read(path, _most_bytes(path.name, settings))
    except UnreadableDocument as e:
        yield source, e
    else:
        yield from documents(source, raw, settings)


def _most_bytes(name: str, settings: Settings) -> int:
    return settings.archive_max_bytes if archives.named(name) else settings.document_max_bytes


def _read(source: str, raw: bytes, settings: Settings) -> Source | UnreadableDocument:
    try:
        return from_bytes(source, raw, settings.document_max_bytes)
    except UnreadableDocument as e:
        return e


def read(path: Path, max_bytes: int) -> bytes:
    """The bytes of one file, at most one more than it may have. Raises UnreadableDocument with the reason."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise UnreadableDocument(f"{path}: is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except (OSError, ValueError) as e:
        raise UnreadableDocument(f"{path}: {getattr(e, 'strerror', None) or e}") from e


def from_bytes(source: str, raw: bytes, max_bytes: int) -> Source:
    """Read a file; its content and the ending of its name decide how. Raises UnreadableDocument."""
    if len(raw) > max_bytes:
        raise UnreadableDocument(f"{source}: larger than {max_bytes} bytes")
    _check_source(source)
    found, made = formats.read(raw, source)
    return _finished(source, made, None, found.media_type, {})


def from_text(source: str, text: str, title: str | None, media_type: str, metadata: Mapping[str, Any]) -> Source:
    """Read a text of a media type that is text. Raises UnreadableDocument."""
    media_type = media_type.partition(";")[0].strip().lower()
    _check_source(source)
    _check_characters(source, text)
    _check_characters(source, title or "", "its title ")
    _check_metadata(source, metadata)
    made = formats.read_text(text.removeprefix("\ufeff"), media_type, source)
    return _finished(source, made, title, media_type, metadata)


def _finished(source: str, made: Read, title: str | None, media_type: str, metadata: Mapping[str, Any]) -> Source:
    """Clean and check what was read: line ends as `\\n`, nothing that PostgreSQL would refuse.

    A Markdown file's front matter stays in the content and adds to the metadata; what the caller gives wins. The
    title is the one given, or the front matter's, the file's own, the first heading, its name.
    """
    content = made.text.replace("\r\n", "\n").replace("\r", "\n")
    _check_characters(source, content)
    if len(_CONTROLS.findall(content)) > len(content) * _BINARY_SHARE:
        raise UnreadableDocument(f"{source}: is binary: full of control characters")
    found = front_matter(content) if media_type == formats.MARKDOWN.media_type else None
    start = found[1] if found else 0
    if not _has_text(content, start):
        raise UnreadableDocument(f"{source}: has no text" + (" but its front matter" if found else ""))
    front = read_front_matter(content[slice(*found[0])]) if found else {}
    heading = "" if media_type in formats.PLAIN else _first_heading(content, start)
    titles = (title, front.pop("title", ""), made.title, heading, PurePosixPath(source).stem, source)
    chosen = next(clean for clean in map(_clean_title, titles) if clean)
    return Source(source, chosen, media_type, content, {**front, **metadata}, made.pages, made.warnings)


def _check_source(source: str) -> None:
    if not source.strip() or len(source) > _SOURCE_CHARS:
        raise UnreadableDocument(f"{source[:60]!r}: a source name has 1 to {_SOURCE_CHARS} characters")
    _check_characters(repr(source), source, "its name ")


def _check_characters(source: str, text: str, part: str = "") -> None:
    """Refuse what cannot be stored as text."""
    if (place := text.find("\0")) >= 0:
        raise UnreadableDocument(f"{source}: {part}contains NUL at character {place}")
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise UnreadableDocument(f"{source}: {part}contains half a surrogate pair at character {e.start}") from e


def _has_text(content: str, start: int) -> bool:
    """Whether there is more than white space and marks that nobody sees."""
    return any(char.isprintable() and not char.isspace() for char in content[start:])


def _check_metadata(source: str, value: object, depth: int = 0) -> None:
    """Refuse what JSON or PostgreSQL cannot hold."""
    if isinstance(value, str):
        _check_characters(source, value, "its metadata ")
    elif isinstance(value, Mapping) and depth < 20:
        for key, item in value.items():
            if not isinstance(key, str):
                raise UnreadableDocument(f"{source}: its metadata has a key that is not text: {key!r}")
            _check_metadata(source, key)
            _check_metadata(source, item, depth + 1)
    elif isinstance(value, list | tuple) and depth < 20:
        for item in value:
            _check_metadata(source, item, depth + 1)
    elif not (value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))):
        raise UnreadableDocument(f"{source}: its metadata has a value that JSON cannot hold: {type(value).__name__}")


def _first_heading(content: str, start: int) -> str:
    labels = (plain_label(block.label) for block in read_blocks(content, start) if block.level)
    return next(filter(None, labels), "")


def _clean_title(title: object) -> str:
    visible = "".join(char if char.isprintable() else " " for char in str("" if title is None else title))
    return " ".join(visible.split())[:_TITLE_CHARS]
