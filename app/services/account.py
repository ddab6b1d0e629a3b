"""Which operating system account runs the servers. PostgreSQL refuses root, so root hands them to another one."""

import logging
import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

DEDICATED = "ragledger"
FALLBACK = "nobody"


@dataclass(frozen=True, slots=True)
class Account:
    """The account that runs a server and owns its data."""

    name: str
    uid: int
    gid: int

    @property
    def is_other(self) -> bool:
        """True where we are root and the servers run as somebody else."""
        return self.uid != os.geteuid()

    def run(
        self, command: Sequence[str], *, stderr: int = subprocess.PIPE, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this account, from a folder that it can surely enter, and never raise for its exit code."""
        return subprocess.run(  # noqa: S603 - the commands are ours, no shell reads their arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            check=False,
            cwd="/",
            env=_environment(),
            pass_fds=pass_fds,
            start_new_session=True,  # Ctrl-C in the terminal is for us, not for a server that others share
            user=self.uid if self.is_other else None,
            group=self.gid if self.is_other else None,
            extra_groups=[] if self.is_other else None,
        )

    def can_enter(self, folder: Path) -> bool:
        """Ask by trying, so that access lists and mount options count too."""
        return not self.is_other or self.run(["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)]).returncode == 0

    def can_run(self, binary: Path) -> bool:
        """True where the account can execute this binary and load its libraries."""
        try:
            return self.run([str(binary), "--version"]).returncode == 0
        except PermissionError:
            return False

    def own(self, path: Path) -> None:
        """Give a path that we have just made to this account. A link is not followed."""
        if self.is_other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def current() -> Account:
    """Who we are."""
    return _of_uid(os.geteuid())


def choose(folder: Path) -> Account:
    """The account for the service kept in `folder`: ourselves, or for root the owner of its data or a dedicated one."""
    if os.geteuid() != 0:
        return current()
    for path in (folder / "data", folder):
        if path.exists() and path.stat().st_uid != 0:
            return _of_uid(path.stat().st_uid)
    return _named(DEDICATED) or _created() or _fallback()


def _of_uid(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:  # containers run as numbers without a name
        return Account(str(uid), uid, os.getegid() if uid == os.geteuid() else uid)
    return Account(entry.pw_name, uid, os.getegid() if uid == os.geteuid() else entry.pw_gid)


def _named(name: str) -> Account | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(name, entry.pw_uid, entry.pw_gid)


def _created() -> Account | None:
    options = [
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
        "--shell",
        "/usr/sbin/nologin",
    ]
    try:
        subprocess.run(["useradd", *options, DEDICATED], check=False, capture_output=True)  # noqa: S603, S607
    except OSError:  # no useradd here
        return None
    account = _named(DEDICATED)  # also where another process created it first
    if account:
        log.info("account_created name=%s reason=postgresql_refuses_root", DEDICATED)
    return account


def _fallback() -> Account:
    entry = pwd.getpwnam(FALLBACK)
    log.warning("account_fallback name=%s reason=could_not_create_%s", FALLBACK, DEDICATED)
    return Account(FALLBACK, entry.pw_uid, entry.pw_gid)


def _environment() -> dict[str, str]:
    """Ours without PGPORT, PGDATA, PGOPTIONS and the like, which would change what the programs do."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C"}
