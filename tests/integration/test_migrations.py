"""The tables come, go and come back; several processes may bring them at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from audited import empty_database
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from app.db import migrate
from app.db.server import REVISION
from app.ingest import pipeline as ingest
from app.records import Source
from app.resources import Resources
from app.services import Endpoints
from app.settings import ROOT
from migrations.functions import install_functions


@pytest.fixture
def url(servers: Endpoints) -> Iterator[str]:
    with empty_database(servers) as made:
        yield made


def ours(url: str) -> set[str]:
    """Every relation, function, type and schema that is neither PostgreSQL's nor an extension's."""
    with psycopg.connect(url) as connection:
        found = connection.execute("""
            WITH own AS (
                SELECT oid, nspname FROM pg_namespace
                WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
            ), thing (class, oid, name) AS (
                SELECT 'pg_class'::regclass, oid, relname FROM pg_class WHERE relnamespace IN (SELECT oid FROM own)
                UNION ALL
                SELECT 'pg_proc'::regclass, oid, proname FROM pg_proc WHERE pronamespace IN (SELECT oid FROM own)
                UNION ALL
                SELECT 'pg_type'::regclass, oid, typname FROM pg_type
                WHERE typnamespace IN (SELECT oid FROM own) AND typrelid = 0 AND typelem = 0
                UNION ALL
                SELECT 'pg_namespace'::regclass, oid, nspname FROM own WHERE nspname <> 'public'
            )
            SELECT name FROM thing t
            WHERE NOT EXISTS (SELECT FROM pg_depend d
                              WHERE d.classid = t.class AND d.objid = t.oid AND d.deptype = 'e')
        """)
        return {row[0] for row in found}


def test_an_empty_database_goes_up_down_to_nothing_and_up_again(url: str) -> None:
    assert ours(url) == set()
    migrate.upgrade(url)
    there = ours(url)
    assert {"document", "query_hit", "ragledger_audit", "bm25", "explain"} <= there
    migrate.downgrade(url, "base")
    assert ours(url) == {"alembic_version", "alembic_version_pkc"}
    migrate.upgrade(url)
    assert ours(url) == there


def test_partitions_of_embedding_spaces_go_down_with_their_tables(url: str) -> None:
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE embedding_s1 PARTITION OF embedding FOR VALUES IN (1)")
    migrate.downgrade(url, "base")
    assert ours(url) == {"alembic_version", "alembic_version_pkc"}


def test_the_models_and_the_migrated_database_do_not_differ(url: str) -> None:
    migrate.upgrade(url)
    assert migrate.differences(url) == []


def test_a_difference_between_models_and_database_is_named(url: str) -> None:
    migrate.upgrade(url)
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE document DROP COLUMN title")
    [difference] = migrate.differences(url)
    assert "title" in difference


def test_two_migrations_at_once_both_succeed(url: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(migrate.upgrade, [url, url])) == [None, None]
    assert migrate.differences(url) == []


def test_a_second_upgrade_changes_nothing(url: str) -> None:
    migrate.upgrade(url)
    there = ours(url)
    migrate.upgrade(url)
    assert ours(url) == there


def test_functions_can_be_installed_again_and_nothing_else_goes(resources: Resources, database_url: str) -> None:
    """The role of the embedded server is called ragledger, and "$user" comes first in its search path."""
    ingest.ingest(Source("a.md", "A", "text/plain", "The copper kettle holds 12 litres."), "k", resources)
    before = ours(database_url)
    engine = create_engine(database_url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    with engine.begin() as begun, Operations.context(MigrationContext.configure(begun)):
        install_functions()
        install_functions()
    engine.dispose()
    assert ours(database_url) == before
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT relname FROM pg_class WHERE relname ~ '_s[0-9]+$' AND relnamespace <> 'public'::regnamespace"
        ).fetchall()
        assert connection.execute("SELECT count(*) FROM embedding").fetchone() == (1,)
    assert rows == []


def test_the_code_knows_the_newest_migration() -> None:
    script = ScriptDirectory.from_config(Config(str(ROOT / "alembic.ini")))
    assert script.get_current_head() == REVISION


def test_a_document_that_was_there_before_has_its_present_version(resources: Resources, database_url: str) -> None:
    made = ingest.ingest(Source("a.md", "A", "text/plain", "The copper kettle holds 12 litres."), "k", resources)
    ingest.ingest(Source("a.md", "B", "text/plain", "The copper kettle holds 12 litres."), "k", resources)
    migrate.downgrade(database_url, "0005")
    migrate.upgrade(database_url)
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT document_id, version, title, chunks, changed FROM document_version"
        ).fetchall()
    assert rows == [(made.document_id, 2, "B", 1, [])]
