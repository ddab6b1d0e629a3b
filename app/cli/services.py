"""`ragledger services`: the embedded PostgreSQL and Valkey."""

from collections.abc import Iterator

import click

from app import services as embedded
from app.cli.settings import load
from app.services import ServiceStatus
from app.settings import Settings

CLIENTS = {"postgres": "psql '{url}'", "valkey": "valkey-cli -u '{url}'"}


@click.group()
def services() -> None:
    """Start, stop and show the embedded PostgreSQL and Valkey."""


@services.command()
def start() -> None:
    """Start what is not running yet; with DATABASE_URL and REDIS_URL set there is nothing to start."""
    settings = load()
    embedded.ensure(settings)
    _show(settings)


@services.command()
def stop() -> None:
    """Stop what runs in RAGLEDGER_HOME."""
    embedded.stop(load())
    click.echo("stopped")


@services.command()
def status() -> None:
    """Show state, process, data folder and URL (with the password, for psql)."""
    _show(load())


def _show(settings: Settings) -> None:
    now = embedded.status(settings)
    for service in (now.postgres, now.valkey):
        click.echo("\n".join(_lines(service)))


def _lines(service: ServiceStatus) -> Iterator[str]:
    details = f"pid {service.pid or '-':<9}version {service.version or '-':<9}data {service.data or '-'}"
    yield f"{service.name:<10}{service.state:<10}{details}"
    if service.state == "running" and service.secret_url:
        yield "  " + CLIENTS[service.name].format(url=service.secret_url.get_secret_value())
    elif service.url:
        yield f"  {service.url}"
