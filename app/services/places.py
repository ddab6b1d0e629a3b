"""Where a service keeps its things: one folder each below RAGLEDGER_HOME."""

import logging
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from app.errors import ServiceFailed
from app.services.account import Account

log = logging.getLogger(__name__)

# For root only: what the servers' account must reach although the home or the checkout is closed to it.
STORE = Path("/var/lib/ragledger")
LOG_MAX_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one service. `folder` has no symbolic links in it, so that command lines can be compared."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def held(self) -> Path:
        """Locked by every living process of the server: they inherit the open file."""
        return self.folder / "held"

    @property
    def password_file(self) -> Path:
        return self.folder / "password"

    @property
    def port_file(self) -> Path:
        return self.folder / "port"

    def password(self) -> str:
        return self.password_file.read_text().strip()

    def port(self) -> int | None:
        """The port of the last start, or None before the first."""
        try:
            return int(self.port_file.read_text())
        except (FileNotFoundError, ValueError):
            return None

    def open_log(self) -> int:
        """A descriptor that appends to the log; a log that has grown large becomes `log.old`."""
        if self.log.exists() and self.log.stat().st_size > LOG_MAX_BYTES:
            self.log.replace(self.folder / "log.old")
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def last_log_lines(self, count: int = 8) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-count:])


def find(home: Path, name: str) -> Place:
    """The place of a service, whether or not it exists yet."""
    return Place((home / name).resolve())


def prepare(home: Path, name: str, account: Account) -> Place:
    """Make the place of a service. Where the account cannot enter the home, a link in the home points to the store."""
    folder = home / name
    if folder.is_symlink() and not folder.exists():
        raise ServiceFailed(
            f"{folder} points to {folder.readlink()}, which is gone: restore it, or delete the link to start empty"
        )
    if not folder.exists():
        home.mkdir(parents=True, exist_ok=True)
        if account.can_enter(home):
            _make(folder, account)
        else:
            _make_in_store(folder, account)
    place = find(home, name)
    if not account.can_enter(place.folder):
        raise ServiceFailed(
            f"the account {account.name} cannot enter {place.folder}: let it pass through the folders above, "
            "or set RAGLEDGER_HOME to a folder it can reach"
        )
    return place


def make_store() -> Path:
    STORE.mkdir(parents=True, exist_ok=True)
    STORE.chmod(0o755)
    return STORE


def write_private(path: Path, text: str, account: Account) -> None:
    """Replace a file by one that only the account can read, whole or not at all."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    account.own(new)
    new.replace(path)


def _make(folder: Path, account: Account) -> None:
    """Root keeps the folder itself and gives away only what is in it, so that it never writes where others can link."""
    folder.mkdir()
    folder.chmod(0o711 if account.is_other else 0o700)


def _make_in_store(folder: Path, account: Account) -> None:
    # A random name, not a digest of the path: a home made anew at an old path must not meet the old data.
    target = make_store() / f"{folder.name}-{secrets.token_hex(8)}"
    _make(target, account)
    (target / "home").write_text(f"{folder}\n")
    folder.symlink_to(target)
    log.info("data_outside_home folder=%s link=%s reason=home_closed_to_%s", target, folder, account.name)
    for old in target.parent.glob(f"{folder.name}-*/home"):
        if Path(old.read_text().strip()).resolve() != old.parent:
            log.warning("data_without_home folder=%s hint=delete_it_if_you_do_not_need_it", old.parent)
