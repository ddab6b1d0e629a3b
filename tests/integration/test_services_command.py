"""`ragledger services` and the two URLs."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result
from services_home import Home, open_home, public_folder

from app import services
from app.cli import main
from app.settings import Settings


@pytest.fixture
def home() -> Iterator[Home]:
    with public_folder() as folder, open_home(folder / "home") as home:
        yield home


def run(home: Home, action: str, **environment: str) -> Result:
    unset = {"DATABASE_URL": "", "REDIS_URL": ""}
    return CliRunner().invoke(main, ["services", action], env=unset | {"RAGLEDGER_HOME": str(home.path)} | environment)


def test_start_status_and_stop_tell_what_runs(home: Home) -> None:
    assert run(home, "status").output.count("stopped") == 2
    assert not home.path.exists()
    started = run(home, "start")
    now = home.status()
    assert f"psql '{services.ensure(home.settings).database_url}'" in started.output
    assert f"pid {now.postgres.pid}" in started.output
    assert f"pid {now.valkey.pid}" in started.output
    assert run(home, "status").output == started.output
    assert run(home, "stop").exit_code == 0
    assert run(home, "status").output.count("stopped") == 2
    assert run(home, "stop").exit_code == 0


def test_a_failure_is_one_message_on_stderr_and_exit_code_1(home: Home) -> None:
    home.path.write_text("")
    result = run(home, "start")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: cannot use ")
    assert "Traceback" not in result.output


def test_with_both_urls_set_nothing_is_started_or_made(home: Home) -> None:
    database, cache = "postgresql://me:secret@db.example/docs", "redis://:secret@cache.example/0"
    settings = Settings(ragledger_home=home.path, database_url=database, redis_url=cache)
    assert services.ensure(settings) == services.Endpoints(database, cache)
    result = run(home, "start", DATABASE_URL=database, REDIS_URL=cache)
    assert result.exit_code == 0
    assert "postgresql://me:***@db.example/docs" in result.output
    assert "secret" not in result.output
    assert services.status(settings).postgres.state == "external"
    assert not home.path.exists()


@pytest.mark.parametrize("hiding", ["postgresql://db/docs?password=secret", "postgresql://[me:secret@db/docs"])
def test_an_address_that_may_hide_a_password_elsewhere_is_not_shown(hiding: str) -> None:
    settings = Settings(database_url=hiding, redis_url="redis://cache/0")
    assert services.status(settings).postgres.url == "(set)"
    assert services.status(settings).valkey.url == "redis://cache/0"
