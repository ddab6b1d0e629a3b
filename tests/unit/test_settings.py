"""Settings: named as in the environment, checked, never printed with their secrets."""

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from app.cli import main
from app.settings import Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VECTOR_WEIGHT", "7"),
        ("TOP_K", "0"),
        ("TOP_K", "many"),
        ("DATABASE_URL", "secret-nonsense"),
        ("DATABASE_URL", "mysql://u:secret@h/d"),
        ("DATABASE_READ_URL", "mysql://u:secret@h/d"),
        ("REDIS_URL", "http://secret"),
        ("PORT", "70000"),
        ("SPLITTER", "magic"),
        ("RERANKER", "magic"),
        ("RERANKER_URL", "localhost/rerank"),
        ("RERANKER_URL", "https://user:secret@host/rerank"),
        ("RERANK_MIN_SCORE", "nan"),
        ("RERANKER_TIMEOUT_SECONDS", "0"),
        ("RERANKER_API_KEY", "secret key"),
        ("OPENAI_API_KEY", "secret\nX-Other: 1"),
        ("OPENAI_API_KEY", "秘密secret"),
    ],
)
def test_a_wrong_setting_ends_the_command_with_its_name(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    result = CliRunner().invoke(main, ["settings"])
    assert result.exit_code == 1
    assert f"Error: {name}: " in result.output
    assert "secret" not in result.output
    assert "Traceback" not in result.output


def test_a_remote_reranker_needs_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANKER", "http")
    with pytest.raises(ValidationError, match="is needed by RERANKER=http"):
        Settings()
    monkeypatch.setenv("RERANKER_URL", "http://localhost:8080/rerank")
    assert Settings().reranker == "http"


def test_secrets_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:hidden@localhost/d")
    monkeypatch.setenv("DATABASE_READ_URL", "postgresql://u:hidden@one,two/d")
    result = CliRunner().invoke(main, ["settings"])
    assert result.exit_code == 0
    assert "DATABASE_URL" in result.output
    assert "hidden" not in result.output


def test_every_setting_is_listed() -> None:
    output = CliRunner().invoke(main, ["settings"]).output
    assert all(name.upper() in output for name in Settings.model_fields)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().top_k = 3  # type: ignore[misc]
