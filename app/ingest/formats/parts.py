"""XML within archives."""

from zipfile import BadZipFile, ZipFile

from lxml import etree

_PARSER = {"resolve_entities": False, "no_network": True, "huge_tree": False}
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def xml(package: ZipFile, name: str) -> etree._Element | None:
    """A part of the archive, None where it has none. Entities are not resolved. Raises etree.XMLSyntaxError."""
    try:
        return etree.fromstring(package.read(name), etree.XMLParser(**_PARSER))
    except KeyError:
        return None


def core_title(package: ZipFile) -> str:
    """The title in the properties of an Office document."""
    try:
        found = xml(package, "docProps/core.xml")
    except (etree.XMLSyntaxError, BadZipFile):
        return ""
    return (found.findtext(_TITLE) or "").strip() if found is not None else ""
