"""HTTP: parse, call, serialise. What the service does is in `app.ingest` and `app.query`."""

from importlib.metadata import PackageNotFoundError, version

from flask import Flask
from flask_openapi3.models.info import Info
from flask_openapi3.openapi import OpenAPI

from app.api import (
    ask,
    collections,
    documents,
    health,
    hooks,
    lexicon,
    openapi,
    pending,
    problems,
    qa_pairs,
    queries,
    search,
)
from app.api.bodies import JsonRequest
from app.api.problems import Problem
from app.ingest.retokenizer import Retokenizer
from app.resources import Resources

_BLUEPRINTS = (documents, pending, collections, search, ask, qa_pairs, lexicon, queries, health)


def create_app(resources: Resources) -> Flask:
    """The service over HTTP. The caller closes the resources."""
    app = OpenAPI(
        __name__,
        info=Info(title="ragledger", version=_version()),
        doc_ui=False,  # its pages load scripts from elsewhere; the document alone is served by `openapi`
        validation_error_model=Problem,
        validation_error_callback=problems.of_validation,
        security_schemes={},
        static_folder=None,
    )
    app.request_class = JsonRequest
    app.json.ensure_ascii = False  # type: ignore[attr-defined]  # Flask's default provider has it
    app.config["MAX_CONTENT_LENGTH"] = resources.settings.request_max_bytes
    app.url_map.merge_slashes = False  # a name with // in it is not another name
    app.extensions["ragledger"] = resources
    app.extensions["ragledger.retokenizer"] = Retokenizer(resources)
    hooks.register(app)
    problems.register(app)
    for module in _BLUEPRINTS:
        app.register_api(module.blueprint)
    openapi.register(app)
    return app


def _version() -> str:
    try:
        return version("ragledger")
    except PackageNotFoundError:  # run from a checkout
        return "0"
