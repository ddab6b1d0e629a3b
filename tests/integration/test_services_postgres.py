"""The embedded PostgreSQL, with real servers."""

import logging
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from services_home import Home, kill, open_home, public_folder, query, told

from app.errors import ServiceFailed
from app.services import account, binaries, places, processes


@pytest.fixture(scope="module")
def running() -> Iterator[Home]:
    """One home with its server up, for tests that leave the home usable."""
    path = "home with spaces, 'quotes' and $signs"
    with public_folder() as folder, open_home(folder / path, redis_url="redis://elsewhere/0") as home:
        home.ensure()
        yield home


@pytest.fixture
def home() -> Iterator[Home]:
    """A home that does not exist yet."""
    with public_folder() as folder, open_home(folder / "home", redis_url="redis://elsewhere/0") as home:
        yield home


@pytest.fixture
def full_home() -> Iterator[Home]:
    """A home for both services."""
    with public_folder() as folder, open_home(folder / "home") as home:
        yield home


def test_a_missing_server_is_started_and_a_running_one_reused(running: Home) -> None:
    before = running.status().postgres
    endpoints = running.ensure()
    assert running.status().postgres == before
    assert query(endpoints.database_url, "SELECT current_database(), current_user") == [("ragledger", "ragledger")]


def test_the_cluster_is_utf8_with_builtin_locale_checksums_and_fsync(running: Home) -> None:
    url = running.ensure().database_url
    database = "SELECT pg_encoding_to_char(encoding), datlocprovider::text, datlocale FROM pg_database"
    assert set(query(url, database)) == {("UTF8", "b", "C.UTF-8")}
    assert query(url, "SELECT current_setting('data_checksums'), current_setting('fsync')") == [("on", "on")]


def test_the_vector_extension_can_be_created(running: Home) -> None:
    url = running.ensure().database_url
    query(url, "CREATE EXTENSION IF NOT EXISTS vector")
    assert query(url, "SELECT '[1,0]'::vector <=> '[0,1]'::vector") == [(1.0,)]


def test_nobody_enters_without_the_password(running: Home) -> None:
    url = running.ensure().database_url
    methods = "SELECT DISTINCT auth_method FROM pg_hba_file_rules"
    assert query(url, methods) == [("scram-sha-256",)]
    password = places.find(running.path, "postgres").password()
    for wrong in (url.replace(f":{password}", ""), url.replace(password, "guess")):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(wrong, passfile="/nonexistent")


def test_the_server_listens_on_the_loopback_address_alone(running: Home) -> None:
    url = running.ensure().database_url
    assert query(url, "SELECT current_setting('listen_addresses')") == [("127.0.0.1",)]
    assert query(url, "SELECT current_setting('unix_socket_directories')") == [("",)]


def test_the_password_is_readable_by_its_account_only(running: Home) -> None:
    place = places.find(running.path, "postgres")
    for path in (place.password_file, place.port_file, place.log):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.data.stat().st_mode) == 0o700


def test_several_processes_at_once_share_one_server(full_home: Home) -> None:
    results = [told(process) for process in [full_home.ensure_elsewhere() for _ in range(4)]]
    assert len({endpoints for endpoints, _ in results}) == 1
    logs = "".join(log for _, log in results)
    assert logs.count("service_started service=postgres") == 1
    assert logs.count("service_started service=valkey") == 1
    assert full_home.ensure() == results[0][0]  # it outlives the processes that started it


def test_a_killed_server_starts_again_with_its_data(running: Home) -> None:
    before = running.ensure()
    query(before.database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
    kill(running.status().postgres.pid)
    assert running.status().postgres.state == "stopped"
    assert running.ensure() == before
    assert query(before.database_url, "SELECT answer FROM kept") == [(42,)]


def test_a_start_waits_for_the_remnants_of_a_killed_server(running: Home) -> None:
    with psycopg.connect(running.ensure().database_url) as connection:
        busy = connection.info.backend_pid
        os.kill(busy, signal.SIGSTOP)
        try:
            kill(running.status().postgres.pid)
            starter = running.ensure_elsewhere()
            with pytest.raises(subprocess.TimeoutExpired):
                starter.wait(3)
            assert running.status().postgres.state == "stopped"
        finally:
            os.kill(busy, signal.SIGCONT)
        endpoints, log = told(starter)
    assert query(endpoints.database_url, "SELECT 1") == [(1,)]
    assert "attempt" not in log


@pytest.mark.parametrize("kind", ["nobody", "zombie", "stranger"])
def test_a_stale_pid_file_does_not_stop_the_start(running: Home, kind: str) -> None:
    running.ensure()
    pid_file = places.find(running.path, "postgres").data / "postmaster.pid"
    text = pid_file.read_text()
    running.stop()
    runner = account.choose(running.path / "postgres")
    user = runner.uid if runner.is_other else None
    command = ["/bin/sleep", "30" if kind == "stranger" else "0"]
    other = subprocess.Popen(command, user=user)  # noqa: S603 - a constant
    if kind == "nobody":
        other.wait()
    else:
        assert processes.wait_until(lambda: processes.lives(other.pid) == (kind == "stranger"), 10)
    pid_file.write_text("\n".join([str(other.pid), *text.splitlines()[1:]]) + "\n")
    shutil.chown(pid_file, runner.uid, runner.gid)

    assert running.status().postgres.state == "stopped"
    running.stop()  # must not touch the stranger
    assert query(running.ensure().database_url, "SELECT 1") == [(1,)]
    assert other.poll() is None if kind == "stranger" else other.wait() == 0
    other.kill()
    other.wait()


def test_a_port_taken_by_a_stranger_is_replaced_and_logged(running: Home, caplog: pytest.LogCaptureFixture) -> None:
    before = running.ensure().database_url
    query(before, "CREATE TABLE still AS SELECT 42 AS answer")
    running.stop()
    port = places.find(running.path, "postgres").port()
    with socket.create_server(("127.0.0.1", port or 0)), caplog.at_level(logging.WARNING):
        after = running.ensure().database_url
    assert after != before
    assert f"port_taken service=postgres kept={port}" in caplog.text
    assert query(after, "SELECT answer FROM still") == [(42,)]


def test_a_server_that_somebody_started_by_hand_is_reused(running: Home) -> None:
    running.ensure()
    running.stop()
    place, runner = places.find(running.path, "postgres"), account.choose(running.path / "postgres")
    port = processes.free_port(None)
    options = ["-D", "data", "-c", f"port={port}", "-c", "unix_socket_directories="]
    by_hand = subprocess.Popen(  # noqa: S603 - ours
        [str(binaries.postgres(runner) / "postgres"), *options],
        cwd=place.folder,
        stderr=subprocess.DEVNULL,
        user=runner.uid if runner.is_other else None,
    )
    pid_file = place.data / "postmaster.pid"
    assert processes.wait_until(lambda: pid_file.exists() and "ready" in pid_file.read_text(), 10)
    assert f":{port}/" in running.ensure().database_url
    assert running.status().postgres.pid == by_hand.pid
    running.stop()
    assert by_hand.wait() == 0


def test_the_url_is_the_same_after_a_restart(running: Home) -> None:
    before = running.ensure()
    running.stop()
    assert running.ensure() == before


def test_a_half_made_cluster_is_made_again(home: Home) -> None:
    starter = home.ensure_elsewhere()
    halves = (home.path / "postgres").resolve()
    assert processes.wait_until(lambda: any(halves.glob("data.new-*/base/1")), 30)
    starter.kill()
    starter.communicate()
    assert not (halves / "data").exists()
    assert query(home.ensure().database_url, "SELECT 1") == [(1,)]
    assert not list(halves.glob("data.new-*/PG_VERSION"))


def test_a_data_folder_with_foreign_files_is_left_alone(home: Home) -> None:
    precious = home.path / "postgres" / "data" / "precious"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    with pytest.raises(ServiceFailed, match="holds files but no PG_VERSION"):
        home.ensure()
    assert precious.read_text() == "mine"


def test_a_broken_configuration_fails_with_the_last_log_lines(home: Home) -> None:
    home.ensure()
    home.stop()
    data = places.find(home.path, "postgres").data
    with (data / "postgresql.conf").open("a") as file:
        file.write("shared_buffers = 'a lot'\n")
    with pytest.raises(ServiceFailed, match=r"(?s)does not start.*shared_buffers"):
        home.ensure()


def test_edits_of_postgresql_conf_count(running: Home) -> None:
    running.ensure()
    running.stop()
    data = places.find(running.path, "postgres").data
    with (data / "postgresql.conf").open("a") as file:
        file.write("work_mem = '5MB'\n")
    assert query(running.ensure().database_url, "SELECT current_setting('work_mem')") == [("5MB",)]


def test_stop_leaves_no_process_and_may_be_called_again(full_home: Home) -> None:
    full_home.stop()
    assert not full_home.path.exists()
    url = full_home.ensure().database_url
    pids = [int(str(pid)) for (pid,) in query(url, "SELECT pid FROM pg_stat_activity")]
    now = full_home.status()
    full_home.stop()
    for pid in (*pids, now.postgres.pid, now.valkey.pid):
        assert not processes.lives(pid or 0)
    full_home.stop()


def test_stop_ends_sessions_that_are_open(home: Home) -> None:
    with psycopg.connect(home.ensure().database_url) as connection:
        connection.execute("SELECT 1")
        home.stop()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def test_a_home_that_is_a_file_is_refused_by_name(home: Home) -> None:
    home.path.write_text("")
    with pytest.raises(ServiceFailed, match=rf"{home.path}.*Set RAGLEDGER_HOME"):
        home.ensure()


def test_a_full_disk_fails_with_what_initdb_said(home: Home) -> None:
    home.path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(home.path)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:  # noqa: S603
        pytest.skip("needs the right to mount a small file system")
    try:
        with pytest.raises(ServiceFailed, match=r"(?s)initdb failed.*No space left on device"):
            home.ensure()
    finally:
        subprocess.run(["umount", str(home.path)], check=True)  # noqa: S603, S607


def test_an_old_cpu_is_refused_before_anything_is_made(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ivy_bridge = tmp_path / "cpuinfo"
    ivy_bridge.write_text("processor\t: 0\nflags\t\t: fpu sse4_2 avx f16c\n")
    monkeypatch.setattr(binaries, "CPUINFO", ivy_bridge)
    with pytest.raises(ServiceFailed, match="this CPU lacks AVX2, FMA, BMI2: set DATABASE_URL"):
        home.ensure()
    assert not (home.path / "postgres" / "data").exists()


def test_the_logs_hold_no_password(full_home: Home, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        full_home.ensure()
        full_home.stop()
    for name in ("postgres", "valkey"):
        place = places.find(full_home.path, name)
        assert place.password() not in caplog.text + place.log.read_text() + repr(full_home.status())
