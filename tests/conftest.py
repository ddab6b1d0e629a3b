"""Real servers for every test: one PostgreSQL and one Valkey per run, an empty migrated database per test."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from psycopg.sql import SQL, Identifier

from app import services
from app.clients.cache import Cache
from app.clients.embedder import Embedder
from app.clients.embedder.backends import Backends
from app.clients.embedder.builtin import IDENTITY, BuiltinEmbedder
from app.db import migrate
from app.db.pool import Database
from app.db.segment_cache import SegmentCache
from app.resources import Resources
from app.services import Endpoints
from app.settings import Settings

TEMPLATE = "ragledger_template"
# how long an example takes says how busy the machine is
hypothesis_settings.register_profile("ragledger", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("ragledger")


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> None:
    """A developer's own DATABASE_URL must never be what the tests run on."""
    for name in Settings.model_fields:
        os.environ.pop(name.upper(), None)
    Settings.model_config["env_file"] = None


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """A data folder outside pytest's own, which is closed to the account that PostgreSQL runs as."""
    folder = Path(tempfile.mkdtemp(prefix="ragledger-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def settings(home: Path, _no_settings_from_outside: None) -> Settings:
    # all tests share one Valkey: a vector that one of them kept would hide from another that its embedder is away
    return Settings(ragledger_home=home, question_cache_seconds=0)


@pytest.fixture(scope="session")
def servers(settings: Settings) -> Iterator[Endpoints]:
    try:
        yield services.ensure(settings)
    finally:
        services.stop(settings)


@pytest.fixture(scope="session")
def _template(servers: Endpoints) -> Iterator[str]:
    """A migrated database that every test's own is copied from."""
    with psycopg.connect(servers.database_url, autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(TEMPLATE)))
        migrate.upgrade(_at(servers.database_url, TEMPLATE))
        yield TEMPLATE


@pytest.fixture
def database_url(servers: Endpoints, _template: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty migrated database of the test's own."""
    name = f"test_{abs(hash(request.node.nodeid)) % 10**12}"
    with psycopg.connect(servers.database_url, autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(_template)))
        yield _at(servers.database_url, name)
        admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(scope="session")
def embedder(home: Path) -> Embedder:
    """The built-in embedder, converted once per run."""
    return BuiltinEmbedder(home / "models", 0)


@pytest.fixture
def resources(database_url: str, servers: Endpoints, settings: Settings, embedder: Embedder) -> Iterator[Resources]:
    """What the pipelines need, on real servers and the real model."""
    made = open_resources(database_url, servers.redis_url, settings, embedder)
    yield made
    made.close()


def open_resources(database_url: str, redis_url: str, settings: Settings, embedder: Embedder) -> Resources:
    """Resources on given servers, sharing the run's embedder."""
    made = Resources(
        settings,
        Database(database_url, max_connections=8, timeout_seconds=20),
        Cache(redis_url, timeout_seconds=1),
        SegmentCache(64_000_000),
    )
    made.__dict__["backends"] = Backends(settings, {("builtin", IDENTITY): embedder})
    return made


def _at(url: str, database: str) -> str:
    parts: Any = psycopg.conninfo.conninfo_to_dict(url)
    return "postgresql://{user}:{password}@{host}:{port}/{database}".format(**parts, database=database)
