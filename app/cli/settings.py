"""`ragledger settings`: every setting, its value and where to change it."""

from typing import Any

import click
from pydantic import SecretStr, ValidationError
from rich.table import Table
from rich.text import Text

from app import log
from app.cli.show import console
from app.settings import Settings


def load(*, serving: bool = False, **changes: Any) -> Settings:
    """The settings of this command, some changed by its options; a wrong one ends it with its name and the reason.
    Logging begins here.

    A command that talks to a person logs no info lines between its own words.
    """
    try:
        settings = Settings(**changes)
    except ValidationError as e:
        lines = [f"{str(error['loc'][0]).upper()}: {error['msg']}" for error in e.errors()]
        raise click.ClickException("; ".join(lines)) from e
    log.configure("warning" if settings.log_level == "info" and not serving else settings.log_level)
    return settings


@click.command()
def settings() -> None:
    """List every setting with its value; secrets are hidden."""
    current = load()
    table = Table()
    table.add_column("variable", no_wrap=True)
    for name in ("value", "default", "what it is"):
        table.add_column(name, overflow="fold")
    for name, field in Settings.model_fields.items():
        value = getattr(current, name)
        shown = "(set)" if isinstance(value, SecretStr) else str(value)
        changed = value != field.default
        table.add_row(name.upper(), Text(shown, "bold" if changed else ""), str(field.default), field.description)
    console().print(table)
