"""The embedded Valkey: on 127.0.0.1 with a password, on a port that is kept, its data in an append-only file."""

import secrets
from pathlib import Path
from signal import SIGTERM, Signals

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.services import binaries, processes
from app.services.account import Account, current
from app.services.places import Place, write_private

CONNECT_SECONDS = 5
AT_ONCE = Retry(NoBackoff(), 0)  # the caller polls; redis-py would sleep for seconds

# Written anew at each start: it is ours, not the user's.
CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir {data}
pidfile {pidfile}
daemonize no
# the command line stays as it was started, so that the process can be recognised
set-proc-title no
appendonly yes
appendfsync everysec
# no snapshots beside the append-only file
save ""
maxmemory 256mb
maxmemory-policy allkeys-lru
"""


class Valkey:
    """The Valkey server of one place."""

    name = "valkey"
    stop_signal: Signals = SIGTERM

    def __init__(self, place: Place) -> None:
        self.place = place

    @property
    def _configuration(self) -> Path:
        return self.place.folder / "valkey.conf"

    @property
    def _pid_file(self) -> Path:
        return self.place.data / "valkey.pid"

    def prepare(self, account: Account, port: int) -> list[str]:
        """Make data folder, password and configuration; return the server's command."""
        program = binaries.valkey(account)
        if not self.place.data.exists():
            self.place.data.mkdir(mode=0o700)
            account.own(self.place.data)
        if not self.place.password_file.exists():
            write_private(self.place.password_file, secrets.token_urlsafe(24), account)
        self._pid_file.unlink(missing_ok=True)  # of a killed server; our caller knows that none lives
        text = CONFIGURATION.format(
            port=port, password=self.place.password(), data=_quoted(self.place.data), pidfile=_quoted(self._pid_file)
        )
        write_private(self._configuration, text, account)
        return [str(program), str(self._configuration)]

    def pid(self) -> int | None:
        """The server's number, where that process really runs with our configuration."""
        try:
            pid = int(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if processes.runs(pid, f"valkey-server {self._configuration}") else None

    def url(self) -> str:
        """The address, with the password."""
        return f"redis://:{self.place.password()}@127.0.0.1:{self.place.port()}/0"

    def answers(self) -> bool:
        """True once the process that we know as ours answers to our password."""
        pid = self.pid()
        if pid is None:
            return False
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=CONNECT_SECONDS, retry=AT_ONCE) as client:
                return bool(client.ping()) and client.info("server")["process_id"] == pid
        except redis.RedisError:  # not listening yet, or loading its data
            return False

    def version(self) -> str:
        """The installed version, such as 9.1.2."""
        us = current()
        words = us.run([str(binaries.valkey(us)), "--version"]).stdout.split()
        return next(word.removeprefix("v=") for word in words if word.startswith("v="))


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
