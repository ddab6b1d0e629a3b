"""A whole ragledger for one benchmark."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from app import services
from app.db import migrate
from app.resources import Resources, build
from app.settings import Settings


@contextmanager
def service(**settings: object) -> Iterator[Resources]:
    """Embedded servers and a migrated database in a folder of their own, gone afterwards."""
    folder = Path(mkdtemp(prefix="ragledger-bench-"))
    folder.chmod(0o755)
    made = Settings.model_validate({"ragledger_home": folder} | settings)
    try:
        migrate.upgrade(services.database_url(made))
        resources = build(made)
        try:
            yield resources
        finally:
            resources.close()
    finally:
        services.stop(made)
        shutil.rmtree(folder, ignore_errors=True)
