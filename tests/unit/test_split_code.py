"""Source code is split at its functions, methods and types, whose names are its sections."""

from itertools import pairwise

import pytest

from app.ingest import formats
from app.ingest.split import code, split
from app.records import Splitting

PYTHON = '''import os

# Says 你好.
@decorated
def greet(name):
    """Greet."""

    def inner():
        return name

    return inner


class Kettle(Base):
    """A kettle, 铜壶."""

    size = 12

    def fill(self, litres):
        if litres > self.size:
            raise ValueError("too much for this kettle, which is small")

    async def heat(self):
        return await self.hot


LIMIT = 3
'''
SOURCES = {
    "text/x-python": (PYTHON, {"greet", "Kettle", "Kettle > fill", "Kettle > heat"}),
    "text/javascript": (
        "function f() {}\nexport class A {\n  m() {}\n}\nconst g = () => 1;\n", {"f", "A", "A > m", "g"},
    ),
    "text/x-typescript": (
        "interface I { a: number }\nexport type T = I;\nexport class A<X> { m(): void {} }\nconst e = <b>x</b>;\n",
        {"I", "T", "A", "A > m"},
    ),
    "text/x-java": ("class A {\n  int x;\n  A() {}\n  void m() {}\n}\n", {"A", "A > A", "A > m"}),
    "text/x-go": ("package a\n\nfunc (r *T) F() {}\n\ntype T struct{}\n", {"F", "T"}),
    "text/x-rust": (
        "impl Display for Kettle {\n    fn fmt(&self) {}\n}\nmod m {\n    fn h() {}\n}\n",
        {"impl Display for Kettle", "impl Display for Kettle > fmt", "m", "m > h"},
    ),
    "text/x-c": ("/* adds */\nint *add(int a) {\n  return a;\n}\nstruct s { int a; };\n", {"add", "s"}),
    "text/x-c++": (
        "namespace n {\nclass A { void m() {} };\n}\nint A::f() { return 1; }\n", {"n", "n > A", "n > A > m", "A::f"},
    ),
    "text/x-csharp": (
        "namespace N { class A { void M() {} int P { get; } } }\n", {"N", "N > A", "N > A > M"},
    ),
    "text/x-ruby": ("module M\n  class A\n    def m; end\n  end\nend\n", {"M", "M > A", "M > A > m"}),
    "text/x-php": ("<?php\nclass A { function m() {} }\nfunction f() {}\n", {"A", "A > m", "f"}),
    "text/x-sh": ("f() { echo; }\nfunction g { echo; }\n", {"f", "g"}),
}  # fmt: skip


@pytest.mark.parametrize("media_type", SOURCES)
def test_what_a_file_defines_is_known_by_name_and_nothing_is_left_out(media_type: str) -> None:
    content, names = SOURCES[media_type]
    groups, outline = code.read(content, media_type)
    blocks = [block for group in groups for block in group]
    assert {" > ".join(path) for path in outline.paths if path} == names
    assert "".join("".join(content[b.start : b.end].split()) for b in blocks) == "".join(content.split())
    assert all(before.end <= after.start for before, after in pairwise(blocks))
    assert outline.starts == [block.start for block in blocks]


def test_each_grammar_has_a_format_and_each_format_a_grammar() -> None:
    assert {made.media_type for made in formats.CODE} == code.GRAMMARS.keys() == SOURCES.keys()


def test_a_function_or_method_is_a_chunk_with_the_comments_before_it() -> None:
    chunks = split(PYTHON, Splitting("semantic", 200, 0), "text/x-python")
    assert [(chunk.section, chunk.text.split("\n")[0]) for chunk in chunks] == [
        ("", "import os"),
        ("Kettle", "class Kettle(Base):"),
        ("Kettle > heat", "async def heat(self):"),
        ("", "LIMIT = 3"),
    ]
    assert chunks[0].text.endswith("return inner")
    assert chunks[1].text.endswith('which is small")')


def test_a_small_file_is_one_chunk() -> None:
    [chunk] = split(PYTHON, Splitting("semantic", 2_000, 0), "text/x-python")
    assert chunk.text == PYTHON.strip()


@pytest.mark.parametrize("media_type", SOURCES)
def test_what_does_not_parse_is_split_all_the_same(media_type: str) -> None:
    for content in ("def f(:\n  return (((\nclass\n", "}}}}{{{{", "\ufeff", "铜壶 " * 200, "\x00", "(" * 5_000):
        chunks = split(content, Splitting("semantic", 60, 0), media_type)
        assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(content.split())
