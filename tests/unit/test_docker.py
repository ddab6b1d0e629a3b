"""The files that start ragledger elsewhere say what the code reads."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from app.settings import ROOT, Settings

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (ROOT / "docker/Dockerfile").read_text()
ENV_EXAMPLE = (ROOT / ".env.example").read_text()
LIBPQ_VARIABLES = {"PGPASSWORD"}


def copied() -> list[str]:
    lines = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY ")]
    return [path for paths in lines for path in paths]


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.removeprefix(name).strip() for line in joined.splitlines() if line.startswith(f"{name} ")]


# --- compose ------------------------------------------------------------------------------------------------------


def test_compose_starts_postgresql_with_pgvector_and_valkey() -> None:
    assert SERVICES["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert SERVICES["valkey"]["image"] == "valkey/valkey:9"
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]


def test_every_variable_of_the_service_is_a_setting() -> None:
    assert {name.lower() for name in set(SERVICES["ragledger"]["environment"]) - LIBPQ_VARIABLES} <= set(
        Settings.model_fields
    )


def test_the_service_reaches_the_other_two_by_url() -> None:
    environment = SERVICES["ragledger"]["environment"]
    settings = Settings(
        _env_file=None,
        database_url=SecretStr(environment["DATABASE_URL"]),
        redis_url=SecretStr(environment["REDIS_URL"]),
    )
    assert settings.database_url is not None
    assert settings.redis_url is not None
    assert "@postgres:5432/" in settings.database_url.get_secret_value()
    assert settings.redis_url.get_secret_value().startswith("redis://valkey:")


def test_no_password_is_written_down() -> None:
    given = [
        SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"],
        SERVICES["ragledger"]["environment"]["PGPASSWORD"],
    ]
    assert all(re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", value) for value in given)
    assert not re.search(r"://[^@/]*:[^@/]+@", (ROOT / "docker/compose.yaml").read_text())


def test_ports_are_open_to_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_service_waits_until_the_other_two_are_healthy() -> None:
    depends = SERVICES["ragledger"]["depends_on"]
    assert depends == {"postgres": {"condition": "service_healthy"}, "valkey": {"condition": "service_healthy"}}
    assert all("healthcheck" in SERVICES[name] for name in depends)
    assert instructions("HEALTHCHECK")


def test_every_named_volume_is_declared() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service["volumes"]}
    assert used == set(COMPOSE["volumes"])


# --- Dockerfile ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", copied())
def test_what_the_dockerfile_copies_exists_and_is_not_ignored(path: str) -> None:
    assert (ROOT / path).exists()
    assert f"!{path}" in (ROOT / "docker/Dockerfile.dockerignore").read_text().splitlines()


def test_the_image_runs_as_a_user_of_its_own() -> None:
    assert instructions("USER") == ["ragledger"]


def test_the_image_migrates_before_it_serves_on_the_port_it_exposes() -> None:
    [command] = instructions("CMD")
    port = instructions("EXPOSE")[0]
    assert json.loads(command)[-1] == f"ragledger migrate && exec ragledger serve --host 0.0.0.0 --port {port}"
    assert f"127.0.0.1:{port}/health/ready" in instructions("HEALTHCHECK")[0]


def test_the_data_folder_is_a_volume() -> None:
    [folder] = instructions("VOLUME")
    assert f"RAGLEDGER_HOME={folder}" in instructions("ENV")[0]
    assert SERVICES["ragledger"]["volumes"] == [f"ragledger:{folder}"]


# --- .env.example -------------------------------------------------------------------------------------------------


def default(field: FieldInfo) -> str:
    return "" if field.default is None else str(field.default)


def test_the_example_lists_every_setting_in_order_with_its_default_and_description() -> None:
    listed = re.findall(r"^# (.+)\n#(\w+)=(.*)$", ENV_EXAMPLE, re.MULTILINE)
    expected = [(field.description, name.upper(), default(field)) for name, field in Settings.model_fields.items()]
    assert listed == expected


def test_the_example_sets_nothing() -> None:
    assert [line for line in ENV_EXAMPLE.splitlines() if line and not line.startswith("#")] == []


def test_the_example_with_every_line_in_force_gives_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    file = tmp_path / "all.env"
    file.write_text(re.sub(r"^#(?=\w+=)", "", ENV_EXAMPLE, flags=re.MULTILINE))
    assert Settings(_env_file=file) == Settings(_env_file=None)
