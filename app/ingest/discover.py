"""The files that paths, folders and patterns name, each with its source. Library: pathspec (MPL-2.0), git's rules."""

import glob
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from app.errors import InvalidInput
from app.ingest import archives, formats

_LOG = logging.getLogger(__name__)
IGNORE_FILE = ".ragledgerignore"


def discover(paths: Sequence[Path], exclude: Sequence[str] = ()) -> Iterator[tuple[Path, str]]:
    """The files to read and their source names: the name of a file, or its path within the folder given.

    Folders are walked in order of name, without hidden entries, formats that are not read, links that lead out of them,
    and what `exclude` or their file `.ragledgerignore` names as `.gitignore` does. A pattern (`docs/**/*.md`) that is
    no path is a folder and which of its files. A path that cannot be read comes too, for `load.read` to say why.

    Raises InvalidInput where two files have one name, or a pattern matches nothing.
    """
    named: dict[str, Path] = {}
    seen: set[str] = set()
    for given in paths:
        base, found = _found(given, exclude)
        for path in found:
            name = path.relative_to(base).as_posix() if base else path.name
            source = os.fsencode(name).decode("utf-8", "backslashreplace")
            real = os.path.realpath(path)
            if real in seen:
                continue
            if source in named:
                raise InvalidInput("paths", f"{named[source]} and {path} would both be named {source!r}")
            seen.add(real)
            named[source] = path
    yield from ((path, source) for source, path in named.items())


def _found(given: Path, exclude: Sequence[str]) -> tuple[Path | None, Iterator[Path]]:
    """The folder that names are relative to, None for a single file, and the files."""
    if _is_folder(given):
        return given, _walk(given, _ignored(given, exclude))
    if os.path.lexists(given) or not glob.has_magic(str(given)):
        return None, iter([given])
    fixed = next(n for n, part in enumerate(given.parts) if glob.has_magic(part))
    base, pattern = Path(*given.parts[:fixed]), str(Path(*given.parts[fixed:]))
    matches = set(base.glob(pattern))
    if not matches:
        raise InvalidInput("paths", f"{given} matches nothing")
    return base, (path for path in _walk(base, _ignored(base, exclude)) if path in matches)


def _ignored(folder: Path, exclude: Sequence[str]) -> GitIgnoreSpec:
    lines = list(exclude)
    try:
        lines = (folder / IGNORE_FILE).read_text(encoding="utf-8").splitlines() + lines
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidInput("paths", f"{folder / IGNORE_FILE} cannot be read: {e}") from e
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as e:
        raise InvalidInput("exclude", str(e)) from e


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # `read` will say why
        return False


def _walk(folder: Path, ignored: GitIgnoreSpec) -> Iterator[Path]:
    root = os.path.realpath(folder)
    failed: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=lambda error: failed.append(Path(str(error.filename)))):
        yield from failed
        failed.clear()
        within = Path(parent).relative_to(folder)
        folders[:] = sorted(
            name for name in folders if not (name.startswith(".") or ignored.match_file(f"{within / name}/"))
        )
        for name in sorted(files):
            path = Path(parent, name)
            if (
                name.startswith(".")
                or not (formats.known(name) or archives.named(name))
                or ignored.match_file(within / name)
            ):
                continue
            if os.path.commonpath([root, os.path.realpath(path)]) != root:
                _LOG.warning("load.link_skipped path=%s reason=leads_out_of_the_folder", path)
                continue
            yield path
    yield from failed
