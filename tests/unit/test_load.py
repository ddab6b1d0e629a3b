"""What becomes of files and uploads before they are split."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidInput, UnreadableDocument
from app.ingest.discover import discover
from app.ingest.load import from_bytes, from_text, read
from app.records import Source

CHINESE = "检索服务把资料分成小段，存在数据库里。用户提问时，系统先找出相关的段落，再给出带引用的回答。"
TRADITIONAL = "檢索服務把資料分成小段，存在資料庫裡。用戶提問時，系統先找出相關的段落，再給出帶引用的回答。"


def write(folder: Path, name: str, content: str | bytes = "text\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_bytes(folder: Path, raw: bytes, name: str = "a.md", max_bytes: int = 100_000) -> Source:
    return from_bytes(name, read(write(folder, name, raw), max_bytes), max_bytes)


def markdown(text: str) -> Source:
    return from_text("guide/a.md", text, None, "text/markdown", {})


def names(*paths: Path) -> list[str]:
    return [source for _, source in discover(paths)]


# --- finding files ------------------------------------------------------------------------------------------------


def test_a_folder_is_walked_in_order_without_hidden_entries_and_other_types(tmp_path: Path) -> None:
    for name in ("b/2.markdown", "b/1.TXT", "a.md", "z.text", ".hidden.md", ".git/x.md", "b/.cache/y.md", "c.doc", "d"):
        write(tmp_path, name)
    assert sorted(names(tmp_path)) == ["a.md", "b/1.TXT", "b/2.markdown", "z.text"]
    assert names(tmp_path) == names(tmp_path)


def test_what_an_ignore_file_or_an_option_names_is_left_out_as_git_does(tmp_path: Path) -> None:
    for name in ("a.md", "drafts/b.md", "drafts/keep.md", "c/old.txt", "c/d/old.txt", "c/new.txt"):
        write(tmp_path, name)
    write(tmp_path, ".ragledgerignore", "# a comment\ndrafts/*\n!drafts/keep.md\n/c/old.txt\n")
    assert names(tmp_path) == ["a.md", "c/new.txt", "c/d/old.txt", "drafts/keep.md"]
    assert [source for _, source in discover([tmp_path], ["c/", "*.pdf"])] == ["a.md", "drafts/keep.md"]
    write(tmp_path, ".ragledgerignore", b"\xff")
    with pytest.raises(InvalidInput, match="ragledgerignore cannot be read"):
        names(tmp_path)


def test_a_pattern_names_files_of_its_folder(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/b.txt", "docs/x/c.md", "docs/.hidden/d.md", "docs/y/e.md", "[odd].md"):
        write(tmp_path, name)
    assert names(tmp_path / "docs" / "**" / "*.md") == ["a.md", "x/c.md", "y/e.md"]
    assert names(tmp_path / "docs" / "[xy]" / "*.md") == ["x/c.md", "y/e.md"]
    assert names(tmp_path / "docs" / "x" / "..", tmp_path / "[odd].md")[-1] == "[odd].md"
    with pytest.raises(InvalidInput, match="matches nothing"):
        names(tmp_path / "docs" / "*.pdf")


def test_a_single_file_goes_by_its_name(tmp_path: Path) -> None:
    assert names(write(tmp_path, "deep/.hidden/a.md")) == ["a.md"]


def test_two_files_that_would_share_a_name_are_refused_with_both_paths(tmp_path: Path) -> None:
    one, two = write(tmp_path, "one/a.md"), write(tmp_path, "two/a.md")
    with pytest.raises(InvalidInput) as refused:
        names(one, two)
    assert str(one) in str(refused.value)
    assert str(two) in str(refused.value)


def test_the_same_file_given_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, "docs/a.md")
    assert names(path, path, tmp_path / "docs") == ["a.md"]


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret/key.md")
    inside = write(tmp_path, "docs/a.md")
    (tmp_path / "docs" / "out.md").symlink_to(secret)
    (tmp_path / "docs" / "out").symlink_to(secret.parent)
    (tmp_path / "docs" / "round").symlink_to(tmp_path / "docs")
    (tmp_path / "docs" / "same.md").symlink_to(inside)
    assert names(tmp_path / "docs") == ["a.md"]


def test_a_path_that_cannot_be_read_is_found_and_then_refused_with_the_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nothing")
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    paths = [
        tmp_path / "missing.md",
        write(tmp_path, "a.doc"),
        *(tmp_path / f"{x}.md" for x in ("pipe", "gone", "loop")),
    ]
    reasons = {}
    for path, source in discover(paths):
        with pytest.raises(UnreadableDocument) as refused:
            from_bytes(source, read(path, 1000), 1000)
        reasons[source] = str(refused.value)
    assert "No such file" in reasons["missing.md"]
    assert "'.doc' are not read" in reasons["a.doc"]
    assert "not a regular file" in reasons["pipe.md"]
    assert "No such file" in reasons["gone.md"]
    assert "symbolic links" in reasons["loop.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_and_folders_without_permission_are_refused_and_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "shut/a.md")
    write(tmp_path, "b.md").chmod(0)
    (tmp_path / "shut").chmod(0)
    try:
        found = list(discover([tmp_path]))
        assert [source for _, source in found] == ["b.md", "shut"]
        for path, _ in found:
            with pytest.raises(UnreadableDocument, match=r"Permission denied|is a folder"):
                read(path, 1000)
    finally:
        (tmp_path / "shut").chmod(0o700)


def test_a_file_name_that_is_not_utf8_still_names_a_document(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("text")
    [(path, source)] = discover([tmp_path])
    assert source == "caf\\xe9.md"
    assert read(path, 100) == b"text"


# --- bytes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030", "gbk"])
def test_chinese_is_read_in_its_encoding(encoding: str, tmp_path: Path) -> None:
    assert read_bytes(tmp_path, f"# 指南\n\n{CHINESE}\n".encode(encoding)).content == f"# 指南\n\n{CHINESE}\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_tells_the_byte_order(encoding: str, tmp_path: Path) -> None:
    assert read_bytes(tmp_path, ("\ufeff" + CHINESE).encode(encoding)).content == CHINESE


def test_traditional_chinese_is_read_as_big5(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, TRADITIONAL.encode("big5")).content == TRADITIONAL


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("대한민국의 모든 국민은 법 앞에 평등하다. 설정 파일을 수정하세요.", "euc-kr"),
        ("設定ファイルを編集してください。東京都は日本の首都です。", "euc-jp"),
        ("設定ファイルを編集してください。東京都は日本の首都です。", "shift_jis"),
        ("Ça a été décidé hier: une solution déjà vue, la façade est fermée.", "cp1252"),
        ("Die Straße ist länger, größer und schöner als früher.", "latin-1"),
        ("As estações são frias; não há opções.", "cp1252"),
        ("城市,人口\n柏林,370万\n巴黎,210万\n马德里,330万\n", "gbk"),
        ("縣市,人口\n臺北,250萬\n高雄,270萬\n", "big5"),
        ("서울,부산,대구,인천,광주", "euc-kr"),
        ("The kettle holds twelve litres.", "utf-16-le"),
        ("The kettle holds twelve litres.", "utf-16-be"),
    ],
)  # fmt: skip
def test_other_encodings_are_told_by_their_usual_characters_which_is_said(
    text: str, encoding: str, tmp_path: Path
) -> None:
    found = read_bytes(tmp_path, text.encode(encoding))
    assert found.content == text
    assert "confidence 0." in found.warnings[0]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Все люди рождаются свободными и равными.", "cp1251"),
        ("Zażółć gęślą jaźń, proszę bardzo.", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
        ("Az ablak előtt ült, és a levegőt nézte, ő is.", "cp1250"),
        ("Şu anda ağaçların altında oturuyoruz, değil mi?", "cp1254"),
        ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι.", "cp1253"),
        ("東京,大阪,名古屋,札幌,横浜", "shift_jis"),
        ("ไทย กรุงเทพมหานคร เชียงใหม่", "cp874"),
        ("שלום עולם, זה טקסט", "cp1255"),
        ("مرحبا بالعالم هذا نص", "cp1256"),
    ],
)  # fmt: skip
def test_other_encodings_are_refused_rather_than_read_as_mojibake(text: str, encoding: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match=r"a\.md: byte \d+ \(0x[0-9A-F]{2}\) is not UTF-8.*save it as UTF-8"):
        read_bytes(tmp_path, text.encode(encoding))


def test_a_broken_utf8_file_is_refused_at_the_byte(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match=r"byte 3 \(0xFF\)"):
        read_bytes(tmp_path, "中".encode() + b"\xff" + b" plain text")


def test_a_broken_utf16_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match="is not utf-16"):
        read_bytes(tmp_path, CHINESE.encode("utf-16") + b"\xd8")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "has no text"),
        (b" \r\n\t\n", "has no text"),
        ("\ufeff\u200b\u3000\n".encode(), "has no text"),
        (b"---\ntitle: x\n---\n\n", "has no text but its front matter"),
        (b"ab\0c", "contains NUL at character 2"),
        (b"\xe2\xe3\xcf\xd3\n\0\0", "is binary: contains NUL at byte 5"),
        (b"\x01\x02\x03\x04 text", "is binary: full of control characters"),
    ],
)
def test_a_file_without_text_is_refused_with_the_reason(raw: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument, match=f"a.md: {reason}"):
        read_bytes(tmp_path, raw)


def test_a_file_over_the_limit_is_refused_and_one_at_the_limit_is_read(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"x" * 1000, max_bytes=1000).content == "x" * 1000
    with pytest.raises(UnreadableDocument, match=r"a\.md: larger than 1000 bytes"):
        read_bytes(tmp_path, b"x" * 1001, max_bytes=1000)


def test_line_ends_become_line_feeds_and_nothing_else_changes(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"a\r\nb\rc\n\n d \t\n").content == "a\nb\nc\n\n d \t\n"


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=60))
def test_any_unicode_text_is_kept_or_refused_and_never_altered(text: str) -> None:
    try:
        content = from_text("a.txt", text, None, "text/plain", {}).content
    except UnreadableDocument:
        return
    assert content == text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


# --- titles and front matter --------------------------------------------------------------------------------------


def test_the_title_is_given_or_in_the_front_matter_or_the_first_heading_or_the_file_name() -> None:
    text = "---\ntitle: From matter\n---\n\nintro\n\n## **A** `b_c` [link](x.md) { #anchor }\n"
    assert from_text("d/a.md", text, " Given  title ", "text/markdown", {}).title == "Given title"
    assert markdown(text).title == "From matter"
    assert markdown(text.replace("title", "name")).title == "A b_c link"
    assert markdown("```\n# comment\n```\n").title == "a"
    assert from_text("d/notes.v2.txt", "# not a heading", None, "text/plain", {}).title == "notes.v2"
    assert from_text("ticket 17", "text", None, "text/plain", {}).title == "ticket 17"


def test_a_byte_order_mark_does_not_hide_the_first_heading(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"\xef\xbb\xbf# Heading\n\ntext").title == "Heading"


def test_front_matter_becomes_metadata_and_stays_in_the_content() -> None:
    text = "---\ntitle: T\ntags: [a, 中]\nyear: 2024\nversion: 1.10\ndate: 2024-01-02\ndraft: true\nanswer: no\n"
    text += "nested:\n  deep: 1\nlist:\n  - x\n  - y\nempty:\n---\nBody\n"
    source = markdown(text)
    assert source.content == text
    assert source.metadata == {
        "tags": ["a", "中"], "year": 2024, "version": "1.10", "date": "2024-01-02", "draft": True, "answer": "no",
        "list": ["x", "y"],
    }  # fmt: skip


def test_what_the_caller_gives_wins_over_the_front_matter() -> None:
    source = from_text("a.md", "---\nowner: file\nkind: x\n---\nBody", None, "text/markdown", {"owner": "caller"})
    assert source.metadata == {"owner": "caller", "kind": "x"}


def test_front_matter_that_is_no_yaml_keeps_its_lines() -> None:
    source = markdown("---\ntitle: One: two\nauthor: @someone\n---\nBody")
    assert (source.title, source.metadata) == ("One: two", {"author": "@someone"})


@pytest.mark.parametrize(
    "text",
    ["---\ntitle: never closed\n\nBody", "---\n\nProse between rules.\n\n---\nBody", "---\nJust prose\n---\nBody",
     "text\n---\ntitle: x\n---\n", "---\ntitle: x\nprose in between\n---\nBody"],
)  # fmt: skip
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    assert markdown(text).metadata == {}


@pytest.mark.parametrize(
    "value", ['"a\\0b"', '"\\ud800"', "[" * 5000, "&a [*a]", "9" * 5000, "{a: {b: c}}", "!!python/object:x y"]
)
def test_hostile_front_matter_is_harmless(value: str) -> None:
    source = markdown(f"---\nkey: {value}\nother: 1\n---\nBody")
    assert "\0" not in str(source.metadata)
    assert "ud800" not in repr(source.metadata)
    assert str(source.metadata["other"]) == "1"


# --- uploads ------------------------------------------------------------------------------------------------------


def test_an_upload_is_cleaned_as_a_file_is() -> None:
    source = from_text(
        "id-1", "\ufeff# Title\r\n\r\ntext\r", None, "text/markdown; charset=utf-8", {"k": [1, None, {"a": 0.5}]}
    )
    assert source == Source("id-1", "Title", "text/markdown", "# Title\n\ntext\n", {"k": [1, None, {"a": 0.5}]})


def test_an_uploaded_file_is_read_by_the_ending_of_its_name() -> None:
    assert from_bytes("x/a.MD", b"\xef\xbb\xbf# H\r\n", 100) == Source("x/a.MD", "H", "text/markdown", "# H\n")
    assert from_bytes("a.txt", CHINESE.encode("gbk"), 1000).content == CHINESE
    for name, raw, reason in (
        ("a.exe", b"x", "'.exe' are not read"),
        ("a", b"x", "'none'"),
        ("a.md", b"x" * 101, "larger"),
    ):
        with pytest.raises(UnreadableDocument, match=reason):
            from_bytes(name, raw, 100)


@pytest.mark.parametrize(
    ("source", "text", "title", "media_type", "metadata", "reason"),
    [
        ("a", "x\ud800", None, "text/plain", {}, "half a surrogate pair at character 1"),
        ("a", "x\0", None, "text/plain", {}, "contains NUL at character 1"),
        ("a", "x", "t\0", "text/plain", {}, "its title contains NUL"),
        ("a\0", "x", None, "text/plain", {}, "its name contains NUL"),
        ("a", "x", None, "text/plain", {"k": ["v\0"]}, "its metadata contains NUL"),
        ("a", "x", None, "text/plain", {"k": float("nan")}, "JSON cannot hold"),
        ("a", "x", None, "text/plain", {"k": object()}, "JSON cannot hold"),
        ("a", "x", None, "application/pdf", {}, "text of type 'application/pdf' is not read"),
        (" ", "x", None, "text/plain", {}, "a source name has"),
        ("a" * 501, "x", None, "text/plain", {}, "a source name has"),
        ("a", "\n", "title", "text/plain", {}, "has no text"),
    ],
)  # fmt: skip
def test_an_upload_that_cannot_be_stored_is_refused(
    source: str, text: str, title: str | None, media_type: str, metadata: dict[str, object], reason: str
) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        from_text(source, text, title, media_type, metadata)


@pytest.mark.parametrize(
    "value",
    ["!!bool foo", '!!int ""', '!!float ""', '[ !!int "" ]', '!!timestamp "foo"', '!!float "' + "1:" * 9000 + '1"'],
)
def test_a_tag_that_yaml_cannot_construct_is_no_error(value: str) -> None:
    made = from_text("a.md", f"---\ntitle: Kept\nx: {value}\n---\n\nhello\n", None, "text/markdown", {})
    assert made.title == "Kept"


def test_a_title_steers_no_terminal() -> None:
    made = from_text("a.md", "text", "A\x1b]0;pwn\x07\x1b[31mred", "text/markdown", {})
    assert made.title.isprintable()
