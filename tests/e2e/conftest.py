"""The service over real HTTP, on a free port of this machine."""

from collections.abc import Iterator

import pytest
from api_client import Api, serving

from app.resources import Resources


@pytest.fixture
def api(resources: Resources) -> Iterator[Api]:
    with serving(resources) as client:
        yield client
