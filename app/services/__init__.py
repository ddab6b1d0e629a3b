"""ragledger's own PostgreSQL and Valkey, for machines without them. With both URLs set nothing here runs."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from app.errors import ServiceFailed
from app.services import account, places, processes, supervise
from app.services.postgres import Postgres
from app.services.valkey import Valkey
from app.settings import Settings

LOCK_SECONDS = supervise.READY_SECONDS + supervise.STOP_SECONDS
KINDS = (Postgres, Valkey)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the two services listen, passwords included."""

    database_url: str
    redis_url: str


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One service. `url` hides the password, `secret_url` has it; both are None while the service is stopped."""

    name: str
    state: Literal["running", "stopped", "external"]
    url: str | None = None
    secret_url: SecretStr | None = None
    pid: int | None = None
    data: Path | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """Both services."""

    postgres: ServiceStatus
    valkey: ServiceStatus


def ensure(settings: Settings) -> Endpoints:
    """Return the two URLs: those set as they are; for each unset one the embedded server's, started if it is down.

    Safe to call from many processes at once. The servers outlive the caller; `stop` ends them.
    """
    return Endpoints(database_url=database_url(settings), redis_url=redis_url(settings))


def database_url(settings: Settings) -> str:
    """PostgreSQL's URL alone, as `ensure` gives it. Raises ServiceFailed."""
    return _set(settings.database_url) or _ensure(settings, Postgres)


def redis_url(settings: Settings) -> str:
    """Valkey's URL alone, as `ensure` gives it. Raises ServiceFailed."""
    return _set(settings.redis_url) or _ensure(settings, Valkey)


def stop(settings: Settings) -> None:
    """End the servers that run in this RAGLEDGER_HOME and wait for them; no error where none runs."""
    home = _home(settings)
    for kind in KINDS:
        if not (home / kind.name).exists():
            continue
        with _explained(home), _start_lock(home, kind.name):
            supervise.stop(kind(places.find(home, kind.name)))


def status(settings: Settings) -> Status:
    """Tell what runs, without starting or making anything."""
    return Status(
        postgres=_status(settings, Postgres, _set(settings.database_url)),
        valkey=_status(settings, Valkey, _set(settings.redis_url)),
    )


def _ensure(settings: Settings, kind: type[Postgres] | type[Valkey]) -> str:
    home = _home(settings)
    with _explained(home), _start_lock(home, kind.name):
        runner = account.choose(home / kind.name)
        return supervise.ensure(kind(places.prepare(home, kind.name, runner)), runner)


def _status(settings: Settings, kind: type[Postgres] | type[Valkey], external: str | None) -> ServiceStatus:
    if external:
        return ServiceStatus(kind.name, "external", url=_masked(external), secret_url=SecretStr(external))
    home = _home(settings)
    with _explained(home):
        service = kind(places.find(home, kind.name))
        pid, data = service.pid(), service.place.data
        version = service.version()
        if pid is None:
            return ServiceStatus(kind.name, "stopped", data=data, version=version)
        url = service.url()
        return ServiceStatus(kind.name, "running", _masked(url), SecretStr(url), pid, data, version)


def _home(settings: Settings) -> Path:
    return settings.ragledger_home.expanduser().absolute()


def _set(url: SecretStr | None) -> str | None:
    return url.get_secret_value() if url else None


def _masked(url: str) -> str:
    """The URL with *** for its password, or no word of it where the password may be elsewhere."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(set)"
    if not parts.hostname or "password" in parts.query:
        return "(set)"
    return url.replace(f":{parts.password}@", ":***@") if parts.password else url


@contextlib.contextmanager
def _start_lock(home: Path, name: str) -> Iterator[None]:
    path = supervise.start_lock(home, name)
    with processes.locked(path, LOCK_SECONDS, f"another process has kept {path} for {LOCK_SECONDS:.0f} s"):
        yield


@contextlib.contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Turn what the operating system refuses into a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        raise ServiceFailed(
            f"cannot use {error.filename or home}: {error.strerror}. Set RAGLEDGER_HOME (now {home}) to a folder "
            "that you can write, or set DATABASE_URL and REDIS_URL"
        ) from error
