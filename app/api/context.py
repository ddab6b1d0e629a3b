"""The resources of the running app."""

from typing import cast

from flask import current_app

from app.resources import Resources


def resources() -> Resources:
    """What `create_app` was given."""
    return cast(Resources, current_app.extensions["ragledger"])
