"""Arrays go to PostgreSQL's binary format and back unchanged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db import wire


@pytest.mark.parametrize("size", [2, 4, 8])
@given(data=st.data())
def test_an_array_comes_back_as_it_went(size: int, data: st.DataObject) -> None:
    kind = np.dtype(f"i{size}")
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    values = np.array(data.draw(st.lists(st.integers(low, high), max_size=40)), kind)
    back = wire.from_array(wire.to_array(values), size)
    assert back.dtype == kind
    assert back.tolist() == values.tolist()
