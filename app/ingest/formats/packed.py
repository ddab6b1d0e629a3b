"""Files that are zip archives inside: opened with a bound on what they unpack to."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from zipfile import BadZipFile, ZipFile

from app.errors import UnreadableDocument

UNPACKED_MAX_BYTES = 500_000_000
_RATIO_MAX = 200  # text in XML packs to a twentieth, seldom to a fiftieth
_RATIO_FROM_BYTES = 10_000_000


@contextmanager
def opened(raw: bytes, source: str) -> Iterator[ZipFile]:
    """The archive. Raises UnreadableDocument where it is none, is encrypted, or unpacks to more than it may."""
    try:
        package = ZipFile(io.BytesIO(raw))
    except (BadZipFile, ValueError, OSError) as e:
        raise UnreadableDocument(f"{source}: is damaged or cut short: {e}") from e
    with package:
        size = sum(info.file_size for info in package.infolist())
        if size > UNPACKED_MAX_BYTES or (size > _RATIO_FROM_BYTES and size > _RATIO_MAX * len(raw)):
            raise UnreadableDocument(f"{source}: would unpack to {size} bytes from {len(raw)}, which looks like a trap")
        if any(info.flag_bits & 1 for info in package.infolist()):
            raise UnreadableDocument(f"{source}: is protected by a password")
        yield package
