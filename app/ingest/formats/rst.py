"""reStructuredText as Markdown, by way of HTML. Library: docutils (public domain, BSD)."""

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.utils import SystemMessage

from app.errors import UnreadableDocument
from app.ingest.formats import web
from app.ingest.formats.result import Read

_SETTINGS = {
    "file_insertion_enabled": False,  # no `include` of this machine's files
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 2,
    "halt_level": 5,
    "warning_stream": False,
    "doctitle_xform": False,
    "initial_header_level": 1,
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "output_encoding": "unicode",
}


def read(text: str, source: str) -> Read:
    """What only other tools understand (Sphinx's directives and roles) is kept as it is written."""
    try:
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        _keep_unknown(tree)
        made = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    except (SystemMessage, NotImplementedError, RecursionError) as e:
        raise UnreadableDocument(f"{source}: is reStructuredText that cannot be read: {e}") from e
    return Read(web.read(str(made), source, whole=True).text)


def _keep_unknown(tree: nodes.document) -> None:
    for message in list(tree.findall(nodes.system_message)):
        kept = [child for child in message.children if isinstance(child, nodes.literal_block)]
        message.parent.replace(message, [nodes.paragraph("", block.astext()) for block in kept])
    for problem in list(tree.findall(nodes.problematic)):
        problem.parent.replace(problem, nodes.Text(problem.astext()))
