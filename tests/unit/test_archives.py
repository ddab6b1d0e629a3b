"""Archives are folders: their members are documents, none leads out or explodes, and a bad one spoils no other."""

import hashlib
import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from app.errors import UnreadableDocument
from app.ingest import archives
from app.ingest.load import documents, of_file
from app.settings import Settings
from tests.made_files import archive, docx, locked_zip

FILES = {
    "guide/a.md": b"# A\n\ntext",
    "guide/b.docx": docx(),
    "guide/bad.pdf": b"no pdf",
    "guide/.hidden.md": b"hidden",
    "__MACOSX/guide/a.md": b"of a Mac",
    "photo.png": b"\x89PNG",
    "inner.zip": archive({"x.md": "# X"}),
    "inner.txt": archive({"x.md": "# X"}),
}
FOUND = {
    "all.x/guide/a.md": "# A\n\ntext",
    "all.x/guide/b.docx": "The drum turns",
    "all.x/guide/bad.pdf": "is not what its name says",
    "all.x/inner.txt": "is an archive within another",
}


def tar(files: Mapping[str, bytes], compression: str) -> bytes:
    made = io.BytesIO()
    mode: Any = f"w:{compression}"
    with tarfile.open(fileobj=made, mode=mode) as package:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            package.addfile(info, io.BytesIO(content))
    return made.getvalue()


def read(name: str, raw: bytes, **limits: int) -> dict[str, str]:
    """What each document says, or is refused for."""
    found = documents(name, raw, Settings.model_validate(limits))
    return {source: str(each) if isinstance(each, UnreadableDocument) else each.content for source, each in found}


@pytest.mark.parametrize("kind", ["zip", "", "gz", "bz2", "xz"])
def test_members_are_documents_of_their_own_and_bad_ones_are_named(kind: str) -> None:
    name = "all.zip" if kind == "zip" else f"all.tar.{kind}".rstrip(".")
    raw = archive(dict(FILES)) if kind == "zip" else tar(FILES, kind)
    found = read(name, raw)
    assert {source.replace(name, "all.x") for source in found} == FOUND.keys()
    for source, said in found.items():
        assert FOUND[source.replace(name, "all.x")] in said


@pytest.mark.parametrize("name", ["../../etc/cron.md", "/etc/cron.md", "a/../../b.md", "..\\b.md"])
def test_a_member_that_leads_out_of_its_archive_is_refused(name: str) -> None:
    for raw, place in (
        (archive({name: "# X", "a.md": "# A"}), "a.zip"),
        (tar({name: b"# X", "a.md": b"# A"}, ""), "a.tar"),
    ):
        found = read(place, raw)
        assert found[f"{place}/a.md"] == "# A"
        assert [said for said in found.values() if said.endswith("leads out of the archive")]
        assert len(found) == 2


def test_links_are_passed_over() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as package:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        package.writestr(link, "/etc/passwd")
        package.writestr("a.md", "# A")
    assert list(read("a.zip", made.getvalue())) == ["a.zip/a.md"]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as other:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("x.md")
            info.type, info.linkname = kind, "/etc/passwd"
            other.addfile(info)
    assert read("a.tar", packed.getvalue()) == {}


def test_archives_that_would_explode_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = b"0" * 30_000_000
    for name, raw in (("a.zip", archive({"a.txt": zeros})), ("a.tgz", tar({"a.txt": zeros}, "gz"))):
        assert "would unpack to" in read(name, raw, archive_max_bytes=1_000_000)[name]
    assert "would unpack to more than 1000000 bytes" in read("a.tgz", raw, archive_max_bytes=1_000_000)["a.tgz"]
    assert "a.txt: larger than 20000000 bytes" in read("a.tgz", raw)["a.tgz/a.txt"]
    monkeypatch.setattr(archives, "MEMBERS_MAX", 2)
    assert "holds more than 2 files" in read("a.zip", archive(dict.fromkeys("abc", "")))["a.zip"]
    assert "holds more than 2 files" in read("a.tar", tar(dict.fromkeys("abc", b""), ""))["a.tar"]


def test_a_size_that_is_a_lie_is_not_believed() -> None:
    raw = bytearray(archive({"a.txt": b"0" * 2_000}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = raw.find(signature) + offset
        raw[place : place + 4] = (10).to_bytes(4, "little")
    [said] = read("a.zip", bytes(raw), document_max_bytes=1_000).values()
    assert "damaged" in said or "larger" in said


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("cut.zip", archive(dict(FILES))[:2_000], "is damaged or cut short"),
        ("cut.tar.gz", tar(FILES, "gz")[:2_000], "is damaged or cut short"),
        ("locked.zip", locked_zip(archive({"a.md": "# A"})), "is protected by a password"),
    ],
)
def test_an_archive_that_cannot_be_read_is_named(name: str, raw: bytes, said: str) -> None:
    assert said in read(name, raw)[name]


def test_names_that_a_chinese_machine_packed_are_read() -> None:
    name = "说明书和我们的文件.md"
    raw = archive({"x" * len(name.encode("gbk")): "# A"}).replace(b"x" * len(name.encode("gbk")), name.encode("gbk"))
    assert list(read("a.zip", raw)) == [f"a.zip/{name}"]


def test_an_archive_that_is_too_large_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(archive({"a.txt": b"".join(hashlib.sha256(bytes([n])).digest() for n in range(100))}))
    settings = Settings.model_validate({"archive_max_bytes": 1_000})
    for found in (of_file(file, "a.zip", settings), documents("a.zip", file.read_bytes(), settings)):
        assert [(source, str(each)) for source, each in found] == [("a.zip", "a.zip: larger than 1000 bytes")]


def test_one_compressed_file_is_no_archive() -> None:
    assert "is a compressed file" in read("a.txt", b"\x1f\x8b\x08\x00")["a.txt"]
