"""The embedded Valkey, with real servers. PostgreSQL's URL is set, so that it does not start."""

import logging
import socket
import stat
import subprocess
from collections.abc import Iterator

import pytest
import redis
from services_home import Home, kill, open_home, public_folder, read_value, write_value

from app.errors import ServiceFailed
from app.services import account, places, processes, supervise


@pytest.fixture
def home() -> Iterator[Home]:
    """A home in which Valkey alone is embedded."""
    path = 'a "home" \\ with spaces'
    with public_folder() as folder, open_home(folder / path, database_url="postgresql://elsewhere/db") as home:
        yield home


def test_a_missing_server_is_started_and_a_running_one_reused(home: Home) -> None:
    url = home.ensure().redis_url
    before = home.status().valkey
    assert home.ensure().redis_url == url
    assert home.status().valkey == before
    assert not (home.path / "postgres").exists()


def test_a_killed_server_starts_again_with_its_data(home: Home) -> None:
    url = home.ensure().redis_url
    write_value(url, "kept", "答案")
    kill(home.status().valkey.pid)
    assert home.status().valkey.state == "stopped"
    assert home.ensure().redis_url == url
    assert read_value(url, "kept") == "答案"


def test_a_stopped_server_starts_again_with_its_data(home: Home) -> None:
    url = home.ensure().redis_url
    write_value(url, "kept", "answer")
    home.stop()
    assert home.ensure().redis_url == url
    assert read_value(url, "kept") == "answer"


def test_nobody_enters_without_the_password(home: Home) -> None:
    url = home.ensure().redis_url
    password = places.find(home.path, "valkey").password()
    for wrong in (url.replace(f":{password}@", ""), url.replace(password, "guess")):
        with redis.Redis.from_url(wrong) as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_the_configuration_is_readable_by_its_account_only(home: Home) -> None:
    home.ensure()
    for name in ("valkey.conf", "password"):
        assert stat.S_IMODE((home.path / "valkey" / name).stat().st_mode) == 0o600


def test_the_data_folder_outlives_a_number_that_went_to_a_stranger(home: Home) -> None:
    url = home.ensure().redis_url
    write_value(url, "kept", "answer")
    kill(home.status().valkey.pid)
    runner = account.choose(home.path / "valkey")
    stranger = subprocess.Popen(["/bin/sleep", "30"], user=runner.uid if runner.is_other else None)
    (home.path / "valkey" / "data" / "valkey.pid").write_text(f"{stranger.pid}\n")
    home.stop()  # must not touch the stranger
    assert read_value(home.ensure().redis_url, "kept") == "answer"
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_port_taken_by_a_stranger_is_replaced_and_logged(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    before = home.ensure().redis_url
    write_value(before, "kept", "answer")
    home.stop()
    port = places.find(home.path, "valkey").port()
    with socket.create_server(("127.0.0.1", port or 0)), caplog.at_level(logging.WARNING):
        after = home.ensure().redis_url
    assert after != before
    assert f"port_taken service=valkey kept={port}" in caplog.text
    assert read_value(after, "kept") == "answer"


def test_a_second_server_never_opens_the_same_folder(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "REMNANT_SECONDS", 0.2)
    home.ensure()
    first = home.status().valkey
    pid_file = home.path / "valkey" / "data" / "valkey.pid"
    pid_file.unlink()  # as if the server ran in another container: it is not recognised, but keeps its lock
    try:
        with pytest.raises(ServiceFailed, match="another process uses"):
            home.ensure()
        assert processes.lives(first.pid or 0)
    finally:
        pid_file.write_text(f"{first.pid}\n")
    assert home.status().valkey == first
