"""Locks, ports and processes: what the operating system knows about the servers."""

import contextlib
import fcntl
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from app.errors import ServiceFailed
from app.services.account import Account

POLL_SECONDS = 0.02
# Below the ranges from which Linux (32768 up) and macOS (49152 up) take ports for outgoing connections,
# so that the port kept for a stopped server is not lent to somebody's client meanwhile.
PORTS = range(20_000, 32_000)
# The shell leaves the server to init and tells its process number; the server's output goes where stderr goes.
LAUNCH = '"$@" >&2 & echo $!'


@contextlib.contextmanager
def locked(path: Path, timeout_seconds: float, refusal: str) -> Iterator[int]:
    """Hold the lock of a file, made if absent; ServiceFailed(`refusal`) where others keep it too long.

    The lock belongs to the open file: a child that inherits the yielded descriptor keeps it after us.
    """
    # Closed to others, who could otherwise keep the lock for ever; what root makes belongs to the folder's owner.
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if os.geteuid() == 0:
            os.fchown(descriptor, path.parent.stat().st_uid, path.parent.stat().st_gid)
        if not wait_until(lambda: _lock(descriptor), timeout_seconds):
            raise ServiceFailed(refusal)
        yield descriptor
    finally:
        os.close(descriptor)


def wait_until(condition: Callable[[], bool], timeout_seconds: float) -> bool:
    """Poll until `condition` holds; False where it never did."""
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def launch(command: Sequence[str], account: Account, *, log: int, held: int) -> int:
    """Start a server that outlives us, with both output streams in `log`; return its process number."""
    started = account.run(["/bin/sh", "-c", LAUNCH, "sh", *command], stderr=log, pass_fds=[held])
    return int(started.stdout)


def runs(pid: int, command: str) -> bool:
    """True where the process lives (a zombie does not) and its command line contains these words."""
    return f"{command} " in f"{_command_line(pid)} "


def works_in(pid: int, program: str, folder: Path) -> bool:
    """True where Linux tells us that a process of this program has this current folder, however it was started."""
    process = Path(f"/proc/{pid}")
    try:
        return (process / "comm").read_text().strip() == program and (process / "cwd").samefile(folder)
    except OSError:
        return False


def lives(pid: int) -> bool:
    """True where the process exists and is no zombie."""
    return bool(_command_line(pid))


def free_port(wanted: int | None) -> int:
    """The wanted port where nobody listens on it, else another."""
    if wanted and _is_free(wanted):
        return wanted
    for port in random.sample(PORTS, k=1000):
        if _is_free(port):
            return port
    raise ServiceFailed(f"no free port of 127.0.0.1 between {PORTS.start} and {PORTS.stop}")


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the servers do: a connection in TIME_WAIT does not block the port, a listener does.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _command_line(pid: int) -> str:
    """The words of a living process's command, joined by spaces; empty for a zombie or no process."""
    if Path("/proc/self").exists():
        try:
            return (
                Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="surrogateescape").strip()
            )
        except OSError:
            return ""
    command = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()  # noqa: S603 - a number
