"""Start, reuse and stop one server: what PostgreSQL and Valkey have in common.

Two locks keep this safe. `home/run/<name>.lock` lets one process at a time start or stop a server. `held`, in the
server's own folder, is inherited by every process of the server: while it is taken some of them live, even where
their numbers mean nothing to us (another container on the same volume).
"""

import logging
import os
from pathlib import Path
from signal import Signals
from typing import Protocol

from app.errors import ServiceFailed
from app.services import processes
from app.services.account import Account
from app.services.places import Place, write_private

log = logging.getLogger(__name__)

ATTEMPTS = 3
READY_SECONDS = 300.0  # recovery after a crash replays up to max_wal_size
REMNANT_SECONDS = 15.0  # children of a killed server notice its death at once unless they are in the middle of work
STOP_SECONDS = 60.0  # a fast shutdown still writes a checkpoint


class Service(Protocol):
    """One kind of server in one place."""

    name: str
    stop_signal: Signals
    place: Place

    def prepare(self, account: Account, port: int) -> list[str]:
        """Make data folder and configuration ready; return the command. Called while no such server runs."""

    def pid(self) -> int | None:
        """The number of the running server, verified to be this one, or None."""

    def url(self) -> str:
        """Where it listens, with the password."""

    def answers(self) -> bool:
        """True once it serves us, False while it may still be starting, ServiceFailed where it never will."""

    def version(self) -> str:
        """The version of the installed program."""


def start_lock(home: Path, name: str) -> Path:
    """The file to lock around `ensure` and `stop`."""
    folder = home / "run"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.lock"


def ensure(service: Service, account: Account) -> str:
    """Start the server unless it runs, wait until it answers, return its URL. The caller holds the start lock."""
    for attempt in range(1, ATTEMPTS + 1):
        pid = service.pid()
        if pid is None:
            pid = _start(service, account)
        if _answers_before_it_ends(service, pid):
            return service.url()
        log.warning("service_ended service=%s pid=%d attempt=%d", service.name, pid, attempt)
    raise ServiceFailed(
        f"{service.name} does not start; {service.place.log} ends with:\n{service.place.last_log_lines()}"
    )


def stop(service: Service) -> None:
    """End the server and wait for all its processes; nothing where it does not run. The caller holds the start lock."""
    pid = service.pid()
    if pid is None:
        return
    os.kill(pid, service.stop_signal)
    late = f"{service.name} (process {pid}) is still stopping after {STOP_SECONDS:.0f} s: see {service.place.log}"
    if not processes.wait_until(lambda: service.pid() is None, STOP_SECONDS):
        raise ServiceFailed(late)
    with processes.locked(service.place.held, STOP_SECONDS, late):
        log.info("service_stopped service=%s pid=%d", service.name, pid)


def _start(service: Service, account: Account) -> int:
    place = service.place
    refusal = (
        f"another process uses {place.data}, maybe in another container or the rest of a killed {service.name}: "
        "end it there, or set RAGLEDGER_HOME to another folder"
    )
    with processes.locked(place.held, REMNANT_SECONDS, refusal) as held:
        port = _port(service, account)
        command = service.prepare(account, port)
        output = place.open_log()
        try:
            pid = processes.launch(command, account, log=output, held=held)
        finally:
            os.close(output)
    log.info("service_started service=%s pid=%d port=%d account=%s", service.name, pid, port, account.name)
    return pid


def _port(service: Service, account: Account) -> int:
    """The port of the last start where it is still free, so that the URL stays the same."""
    kept = service.place.port()
    port = processes.free_port(kept)
    if port != kept:
        write_private(service.place.port_file, str(port), account)
    if kept and port != kept:
        log.warning(
            "port_taken service=%s kept=%d now=%d reason=another_program_listens_there", service.name, kept, port
        )
    return port


def _answers_before_it_ends(service: Service, pid: int) -> bool:
    """Wait for the server; False where its process ended first."""
    answered = False

    def settled() -> bool:
        nonlocal answered
        answered = service.answers()
        return answered or not processes.lives(pid)

    if not processes.wait_until(settled, READY_SECONDS):
        raise ServiceFailed(
            f"{service.name} (process {pid}) does not answer after {READY_SECONDS:.0f} s; "
            f"{service.place.log} ends with:\n{service.place.last_log_lines()}"
        )
    return answered
