"""The command line: one click command per file, loaded when it is called."""

import importlib
import logging
from typing import Any

import click

from app import __version__
from app.errors import RagledgerError

COMMANDS = (
    "ask",
    "changes",
    "compact",
    "demo",
    "eval",
    "golden",
    "index",
    "ingest",
    "lexicon",
    "migrate",
    "psql",
    "reembed",
    "search",
    "serve",
    "services",
    "settings",
    "sweep",
)


class _Commands(click.Group):
    """Imports a command's file at its first use; turns domain errors into one line on stderr and exit code 1."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"app.cli.{name}" if name != "eval" else "app.cli.evaluate")
        command: click.Command = getattr(module, name if name != "eval" else "evaluate")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RagledgerError as e:
            logging.getLogger(__name__).debug("command.failed", exc_info=e)
            raise click.ClickException(str(e)) from e


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Hybrid retrieval and cited answers on PostgreSQL, with every score in a table."""
