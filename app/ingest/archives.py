"""Zip and tar archives as folders: each member is a file of its own, named `archive/member`."""

import io
import posixpath
import stat
import tarfile
from collections.abc import Iterator
from zipfile import BadZipFile, ZipFile, ZipInfo

from app.errors import UnreadableDocument
from app.ingest import formats
from app.ingest.decode import decode

SUFFIXES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
MEMBERS_MAX = 10_000
_ZIP = b"PK\x03\x04"
_UTF8_NAME = 0x800
_ENCRYPTED = 1
_STARTS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")  # compressed, of which tar is read
Member = tuple[str, bytes | UnreadableDocument]


def is_archive(raw: bytes, source: str) -> bool:
    """Whether a file is one, told by its content: a zip that is no Office document or book, or a tar."""
    if raw.startswith(_ZIP):
        return formats.in_zip(raw, source) is None
    if raw.startswith(_STARTS) and not named(source):
        return False  # a compressed single file; telling would unpack it
    return raw.startswith(_STARTS) or raw[257:262] == b"ustar"


def named(name: str) -> bool:
    """Whether a name ends like an archive's."""
    return name.lower().endswith(SUFFIXES)


def members(raw: bytes, source: str, max_bytes: int, each_max_bytes: int) -> Iterator[Member]:
    """The files in formats that are read, without hidden ones and links; what cannot be read of them, by name.

    Raises UnreadableDocument where the archive is damaged or locked, holds more than MEMBERS_MAX members, or would
    unpack to more than `max_bytes`: before that much is unpacked.
    """
    made = _of_zip if raw.startswith(_ZIP) else _of_tar
    try:
        yield from made(raw, source, max_bytes, each_max_bytes)
    except (BadZipFile, tarfile.TarError, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as e:
        raise UnreadableDocument(f"{source}: is damaged or cut short: {e}") from e


def _of_zip(raw: bytes, source: str, max_bytes: int, each_max_bytes: int) -> Iterator[Member]:
    with ZipFile(io.BytesIO(raw)) as package:
        found = [info for info in package.infolist() if not info.is_dir()]
        _check(source, len(found), sum(info.file_size for info in found), max_bytes)
        if any(info.flag_bits & _ENCRYPTED for info in found):
            raise UnreadableDocument(f"{source}: is protected by a password")
        for info in found:
            if stat.S_ISLNK(info.external_attr >> 16):
                continue
            name = _name(info, source)
            if place := _place(name, source, info.file_size, each_max_bytes):
                with package.open(info) as file:  # the size that is told may be a lie
                    yield (
                        place if isinstance(place[1], UnreadableDocument) else (place[0], file.read(each_max_bytes + 1))
                    )


def _of_tar(raw: bytes, source: str, max_bytes: int, each_max_bytes: int) -> Iterator[Member]:
    unpacked = count = 0
    with tarfile.open(fileobj=io.BytesIO(raw)) as package:
        for info in package:
            unpacked, count = unpacked + info.size, count + 1
            _check(source, count, unpacked, max_bytes)
            if info.isreg() and (place := _place(info.name, source, info.size, each_max_bytes)):
                file = package.extractfile(info)
                content = file.read(each_max_bytes + 1) if file else b""
                yield place if isinstance(place[1], UnreadableDocument) else (place[0], content)


def _check(source: str, count: int, size: int, max_bytes: int) -> None:
    if count > MEMBERS_MAX:
        raise UnreadableDocument(f"{source}: holds more than {MEMBERS_MAX} files")
    if size > max_bytes:
        raise UnreadableDocument(f"{source}: would unpack to more than {max_bytes} bytes")


def _place(name: str, source: str, size: int, each_max_bytes: int) -> Member | None:
    """The source of a member, with what is wrong with it; None where a folder's walk would pass it over."""
    path = posixpath.normpath(name.replace("\\", "/"))
    parts = path.split("/")
    if not formats.known(path) or any(part.startswith(".") and part != ".." for part in parts) or "__MACOSX" in parts:
        return None
    place = f"{source}/{path}"
    if path.startswith("/") or ".." in parts:
        return place, UnreadableDocument(f"{place}: leads out of the archive")
    if size > each_max_bytes:
        return place, UnreadableDocument(f"{place}: larger than {each_max_bytes} bytes")
    return place, b""


def _name(info: ZipInfo, source: str) -> str:
    """Names are UTF-8 where they say so; else what the packing machine wrote, which Python read as code page 437."""
    if info.flag_bits & _UTF8_NAME or info.filename.isascii():
        return info.filename
    try:
        return decode(info.orig_filename.encode("cp437"), source).text
    except (UnicodeEncodeError, UnreadableDocument):
        return info.filename
