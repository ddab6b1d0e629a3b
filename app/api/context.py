"""What belongs to the running app."""

from typing import cast

from flask import Flask, current_app

from app.ingest.retokenizer import Retokenizer
from app.resources import Resources


def resources() -> Resources:
    """What `create_app` was given."""
    return cast(Resources, current_app.extensions["ragledger"])


def retokenizer() -> Retokenizer:
    """What makes indexes anew when words change."""
    return retokenizer_of(current_app)


def retokenizer_of(app: Flask) -> Retokenizer:
    """That of an app, for whoever starts and stops it."""
    return cast(Retokenizer, app.extensions["ragledger.retokenizer"])
