"""Servers that are too old are refused by name."""

import pytest

from app.db.server import require_pgvector, require_server
from app.errors import UnsupportedServer


@pytest.mark.parametrize("version", [90624, 130011, 140019])
def test_an_old_postgresql_is_refused(version: int) -> None:
    with pytest.raises(UnsupportedServer, match=rf"PostgreSQL {version // 10_000} is too old"):
        require_server(version)


@pytest.mark.parametrize("version", [150000, 160009, 170006, 180006, 190000])
def test_a_recent_postgresql_is_taken(version: int) -> None:
    require_server(version)


@pytest.mark.parametrize("version", ["0.4.4", "0.7.4", "0.7"])
def test_an_old_pgvector_is_refused(version: str) -> None:
    with pytest.raises(UnsupportedServer, match=f"pgvector {version} is too old"):
        require_pgvector(version)


def test_a_server_without_pgvector_is_told_what_to_install() -> None:
    with pytest.raises(UnsupportedServer, match=r"install pgvector 0\.8"):
        require_pgvector(None)


@pytest.mark.parametrize("version", ["0.8.0", "0.8.6", "0.10.1", "1.0"])
def test_a_recent_pgvector_is_taken(version: str) -> None:
    require_pgvector(version)
