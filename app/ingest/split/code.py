"""Source code read as blocks: each function, method or type with the comments before it. Library: tree-sitter (MIT)."""

import importlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from tree_sitter import Language, Node, Parser

from app.ingest.split.blocks import Block
from app.ingest.split.headings import Outline, Path
from app.ingest.split.text import has_words, trim

GRAMMARS = {  # media type -> module of the grammar, its function
    "text/x-python": ("tree_sitter_python", "language"),
    "text/javascript": ("tree_sitter_javascript", "language"),
    "text/x-typescript": ("tree_sitter_typescript", "language_tsx"),
    "text/x-java": ("tree_sitter_java", "language"),
    "text/x-go": ("tree_sitter_go", "language"),
    "text/x-rust": ("tree_sitter_rust", "language"),
    "text/x-c": ("tree_sitter_c", "language"),
    "text/x-c++": ("tree_sitter_cpp", "language"),
    "text/x-csharp": ("tree_sitter_c_sharp", "language"),
    "text/x-ruby": ("tree_sitter_ruby", "language"),
    "text/x-php": ("tree_sitter_php", "language_php"),
    "text/x-sh": ("tree_sitter_bash", "language"),
}
_DEFINITIONS = frozenset(
    {
        *("function_definition", "function_declaration", "generator_function_declaration", "function_item"),
        *("method_definition", "method_declaration", "constructor_declaration", "method", "singleton_method"),
        *("class_definition", "class_declaration", "abstract_class_declaration", "class_specifier", "class"),
        *("interface_declaration", "enum_declaration", "record_declaration", "struct_declaration", "trait_declaration"),
        *("struct_item", "enum_item", "trait_item", "impl_item", "mod_item", "module", "internal_module", "type_spec"),
        *("struct_specifier", "union_specifier", "enum_specifier", "namespace_definition", "namespace_declaration"),
        *("type_alias_declaration", "macro_definition"),
    }
)
_AROUND = frozenset(
    {
        *(
            "decorated_definition",
            "export_statement",
            "ambient_declaration",
            "type_declaration",
            "template_declaration",
        ),
        *("lexical_declaration", "variable_declaration", "expression_statement"),
    }
)
_FUNCTION = re.compile("function|method|constructor|macro")
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function"})
_BODIES = ("body", "declaration_list", "block", "class_body", "field_declaration_list")
PARSED_MAX_CHARS = (
    300_000  # a file that is no code takes the square of its length: this much 4 s as C++, 8 MB two hours
)
_NAME_CHARS = 80
_DEPTH = 12


class Part(NamedTuple):
    """A range in bytes, and the names of what it belongs to."""

    start: int
    end: int
    path: Path


def read(content: str, media_type: str) -> tuple[list[list[Block]], Outline]:
    """The blocks of a source file by what stands at its top, and the path (class, method) at each of them.

    Code that does not parse is text between what does.
    """
    raw = content.encode()
    root = Parser(_language(media_type)).parse(raw).root_node
    parts = list(_parts(root, 0, len(raw), (), raw))
    places = _characters(content, raw, [place for part in parts for place in part[:2]])
    groups: list[list[Block]] = []
    starts: list[int] = []
    paths: list[Path] = []
    for part in parts:
        start, end = trim(content, places[part.start], places[part.end])
        if start == end:
            continue
        if groups and not has_words(content, start, end):  # what closes the one before
            groups[-1][-1] = groups[-1][-1]._replace(end=end)
            continue
        if not (groups and part.path and paths[-1][:1] == part.path[:1]):
            groups.append([])
        groups[-1].append(Block("code", start, end))
        starts.append(start)
        paths.append(part.path)
    return groups, Outline(starts, paths)


@cache
def _language(media_type: str) -> Language:
    module, function = GRAMMARS[media_type]
    return Language(getattr(importlib.import_module(module), function)())


def _parts(parent: Node, start: int, end: int, path: Path, raw: bytes) -> Iterator[Part]:
    """[start, end) in order: the definitions under `parent`, of types those within them, and what is between."""
    comment: int | None = None
    for child in parent.children:
        found = _definition(child, raw)
        if found is None:
            comment = (child.start_byte if comment is None else comment) if child.type.endswith("comment") else None
            continue
        begin = child.start_byte if comment is None else comment
        comment = None
        if begin < start:  # never: children ascend; a grammar that broke this must not break offsets
            continue
        if start < begin:
            yield Part(start, begin, path)
        name, body = found
        own = (*path, name) if name else path
        if body is not None and len(own) < _DEPTH and any(_definition(each, raw) for each in body.named_children):
            yield from _parts(body, begin, child.end_byte, own, raw)
        else:
            yield Part(begin, child.end_byte, own)
        start = child.end_byte
    if start < end:
        yield Part(start, end, path)


def _definition(node: Node, raw: bytes) -> tuple[str, Node | None] | None:
    """The name and the body of what a node defines, None where it defines nothing."""
    if node.type in _AROUND:
        return next((found for child in node.named_children if (found := _definition(child, raw))), None)
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return (_name(node, raw), None) if value is not None and value.type in _FUNCTIONS else None
    if node.type not in _DEFINITIONS or not node.is_named:
        return None
    if _FUNCTION.search(node.type):
        return _name(node, raw), None  # what it defines within itself belongs to it
    body = node.child_by_field_name("body") or next((c for c in node.named_children if c.type in _BODIES), None)
    return _name(node, raw), body


def _name(node: Node, raw: bytes) -> str:
    named: Any = node.child_by_field_name("name")
    inner: Any = node
    while named is None and (inner := inner.child_by_field_name("declarator")) is not None:  # C names the innermost
        named = None if inner.child_by_field_name("declarator") else inner
    if named is None:  # `impl Display for Kettle`
        body = node.child_by_field_name("body")
        text = raw[node.start_byte : body.start_byte if body else node.end_byte]
    else:
        text = raw[named.start_byte : named.end_byte]
    return " ".join(text.decode(errors="replace").split())[:_NAME_CHARS]


def _characters(content: str, raw: bytes, places: Iterable[int]) -> dict[int, int]:
    """The character at each of some places in bytes."""
    if content.isascii():
        return {place: place for place in places}
    found, character, reached = {}, 0, 0
    for place in sorted(set(places)):
        character += len(raw[reached:place].decode(errors="ignore"))
        reached = place
        found[place] = character
    return found
