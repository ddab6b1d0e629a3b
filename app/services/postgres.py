"""The embedded PostgreSQL: one cluster, one role `ragledger` that owns it, one database `ragledger`.

It listens on 127.0.0.1 alone, with a password (SCRAM), on a port that is kept. There is no Unix socket: a port
suffices, and a socket's path may have no more than about 100 bytes, which a home folder exceeds easily.
The application connects as the owning role, a superuser of this private server, since migrations create extensions.
"""

import logging
import secrets
import shutil
import sys
from pathlib import Path
from signal import SIGINT, Signals

import psycopg

from app.errors import ServiceFailed
from app.services import binaries, processes
from app.services.account import Account, current
from app.services.places import Place, write_private

log = logging.getLogger(__name__)

ROLE = DATABASE = "ragledger"
CONNECT_SECONDS = 10
# Parallel index builds take maintenance_work_mem from here; containers get 64 MB by default.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - not a temporary file
SHARED_MEMORY_MIN_BYTES = 1_000_000_000

# Written into postgresql.conf when the cluster is made; afterwards that file is the user's to edit.
SETTINGS = {
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",  # HNSW builds slow down sharply once the graph exceeds it
    "max_connections": "100",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",  # compiling costs more than these short statements take
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Postgres:
    """The PostgreSQL server of one place."""

    name = "postgres"
    stop_signal: Signals = SIGINT  # fast shutdown: sessions are ended, a checkpoint is written

    def __init__(self, place: Place) -> None:
        self.place = place

    def prepare(self, account: Account, port: int) -> list[str]:
        """Make the cluster if there is none; return the server's command."""
        binaries.require_cpu()
        programs = binaries.postgres(account)
        if not (self.place.data / "PG_VERSION").exists():
            _make_cluster(self.place, programs / "initdb", account)
        # No process of this server lives: our caller has its lock. The file of a killed one would still stop
        # PostgreSQL where the number has gone to another process, or to a zombie that nobody reaps.
        (self.place.data / "postmaster.pid").unlink(missing_ok=True)
        options = {"listen_addresses": "127.0.0.1", "port": str(port), "unix_socket_directories": ""}
        if SHARED_MEMORY.exists() and shutil.disk_usage(SHARED_MEMORY).total < SHARED_MEMORY_MIN_BYTES:
            options["dynamic_shared_memory_type"] = "mmap"
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [str(programs / "postgres"), "-D", str(self.place.data), *flags]

    def pid(self) -> int | None:
        """The postmaster's number, where that process really is one of this data folder."""
        first = self._pid_file_line(0)
        pid = int(first) if first.isdecimal() else None
        if not pid:
            return None
        ours = processes.runs(pid, f"postgres -D {self.place.data}")
        return pid if ours or processes.works_in(pid, "postgres", self.place.data) else None

    def url(self, database: str = DATABASE) -> str:
        """The address, with the password."""
        port = self._pid_file_line(3) or self.place.port()  # the first differs where somebody ran pg_ctl by hand
        return f"postgresql://{ROLE}:{self.place.password()}@127.0.0.1:{port}/{database}"

    def answers(self) -> bool:
        """True once the server accepts our password and has our database, which is made at the first time."""
        if self._pid_file_line(7) != "ready":
            return False
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=CONNECT_SECONDS, autocommit=True) as connection:
                return _is_of(connection, self.place.data) and _has_database(connection)
        except psycopg.Error as error:
            if self.pid() is None or "the database system is" in str(error):  # starting up, shutting down, in recovery
                return False
            raise ServiceFailed(f"the embedded PostgreSQL in {self.place.data} refuses us: {error}") from error

    def version(self) -> str:
        """The installed version, such as 18.6."""
        us = current()
        return us.run([str(binaries.postgres(us) / "postgres"), "--version"]).stdout.split()[-1]

    def _pid_file_line(self, index: int) -> str:
        try:
            lines = (self.place.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return ""
        return lines[index].strip() if index < len(lines) else ""


def _make_cluster(place: Place, initdb: Path, account: Account) -> None:
    """Make the cluster beside its place and rename it: a half-made one is never taken for a whole one."""
    if place.data.exists() and any(place.data.iterdir()):
        raise ServiceFailed(f"{place.data} holds files but no PG_VERSION: move it away, or restore the database there")
    for half in place.folder.glob("data.new-*"):
        shutil.rmtree(half, ignore_errors=True)
    if not place.password_file.exists():
        write_private(place.password_file, secrets.token_urlsafe(24), account)
    # A new name each time: the initdb of a killed process may still be writing to the old one.
    new = place.folder / f"data.new-{secrets.token_hex(4)}"
    new.mkdir(mode=0o700)
    account.own(new)
    made = account.run([str(initdb), "-D", str(new), *_initdb_options(place)])
    if made.returncode != 0:
        shutil.rmtree(new, ignore_errors=True)
        raise ServiceFailed(f"initdb failed in {place.folder}:\n{_last_lines(made.stdout + made.stderr)}")
    new.rename(place.data)
    log.info("cluster_made folder=%s", place.data)


def _initdb_options(place: Place) -> list[str]:
    # The builtin provider sorts the same on every system. The C library's locale matters only to extensions that
    # classify letters (pg_trgm); macOS has no C.UTF-8.
    locale = "C.UTF-8" if sys.platform == "linux" else "C"
    options = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--locale={locale}"]
    access = [f"--username={ROLE}", "--auth=scram-sha-256", f"--pwfile={place.password_file}"]
    return [*options, *access, *(f"--set={name}={value}" for name, value in SETTINGS.items())]


def _is_of(connection: psycopg.Connection[tuple[object, ...]], data: Path) -> bool:
    """True where the server behind the connection keeps its data in this folder."""
    row = connection.execute("SELECT current_setting('data_directory')").fetchone()
    return row == (str(data),)


def _has_database(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
        connection.execute(f"CREATE DATABASE {DATABASE}")
    return True


def _last_lines(text: str, count: int = 8) -> str:
    return "\n".join(text.strip().splitlines()[-count:])
