"""`ragledger serve`: the service over HTTP."""

import logging
import socket
import sys
from typing import Any

import click
from flask import Flask
from gunicorn.app.base import BaseApplication

from app import resources
from app.api import create_app
from app.api.context import retokenizer_of
from app.cli.settings import load
from app.errors import RagledgerError
from app.ingest.retokenizer import Retokenizer
from app.ingest.retrier import Retrier
from app.settings import Settings

_LOG = logging.getLogger(__name__)
_BOOT_SECONDS = 300  # the first start converts the model's weights
_DRAIN_SECONDS = 30  # requests under way at a SIGTERM may take this long


@click.command()
@click.option("--host", help="Address to listen on.  [default: HOST, 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port; 0 takes a free one.  [default: PORT, 8000]")
def serve(host: str | None, port: int | None) -> None:
    """Answer HTTP requests until SIGTERM or Ctrl-C."""
    settings = load(serving=True)
    resources.build(settings).close()  # what is wrong is told here, in one line, before anything is forked
    address = (settings.host if host is None else host, settings.port if port is None else port)
    _require_free(*address)
    try:
        _Server(settings, *address).run()
    except SystemExit as e:
        sys.exit(1 if e.code else 0)


def _require_free(host: str, port: int) -> None:
    """Say it in one line where the address cannot be used; gunicorn would try five times and log ten lines."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as e:
        reason = f"cannot listen on {host} port {port}: {e.strerror or e}"
        raise click.ClickException(f"{reason}; choose another with --port, or PORT") from e


class _Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """One worker process: its threads share the embedder and the decoded postings, which are most of the memory."""

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        self._settings = settings
        self._bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._resources: resources.Resources | None = None
        self._retokenizer: Retokenizer | None = None
        self._retrier: Retrier | None = None
        super().__init__()

    def load_config(self) -> None:
        """gunicorn's settings; its files and environment variables are not read."""
        chosen = {
            "bind": self._bind,
            "workers": 1,
            "worker_class": "app.cli.worker.Worker",
            "threads": self._settings.server_threads,
            "timeout": _BOOT_SECONDS,
            "graceful_timeout": _DRAIN_SECONDS,
            "limit_request_line": 8_190,  # the most that gunicorn takes: a question of 900 Han characters in a URL
            "forwarder_headers": "",  # a client's SCRIPT_NAME would move the routes
            "loglevel": "warning",
            "control_socket_disable": True,
            "post_worker_init": _announce,
            "worker_exit": self._close,
        }
        for name, value in chosen.items():
            if name in self.cfg.settings:  # control_socket_disable: since gunicorn 25.1
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """The app of a worker process. Called after the fork, before it accepts requests."""
        try:
            self._resources = resources.build(self._settings)
        except RagledgerError as e:
            _LOG.error("serve.failed error=%s detail=%s", type(e).__name__, e)
            sys.exit(1)
        _warm_up(self._resources)
        app = create_app(self._resources)
        self._retokenizer = retokenizer_of(app)
        self._retrier = Retrier(self._resources)
        self._retrier.start()
        self._retokenizer.wake()  # this version's tokenizer may be a newer one, or the last process ended on the way
        return app

    def _close(self, _arbiter: Any, _worker: Any) -> None:
        if self._retrier:
            self._retrier.stop()
        if self._retokenizer:
            self._retokenizer.stop()
        if self._resources:
            self._resources.close()


def _warm_up(built: resources.Resources) -> None:
    try:
        built.embedder.embed_questions(["ready"])
    except RagledgerError as e:
        _LOG.warning("serve.degraded part=vector error=%s", type(e).__name__)
    try:
        if reranker := built.reranker(built.settings.reranker):
            reranker.score("ready", ["ready"])
    except RagledgerError as e:
        _LOG.warning("serve.degraded part=rerank error=%s detail=%s", type(e).__name__, e)


def _announce(worker: Any) -> None:
    for listener in worker.sockets:
        click.echo(f"ragledger listens on {listener}", err=True)
