"""Arrays go to PostgreSQL's binary format and back unchanged."""

import struct

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


@given(
    rows=st.lists(
        st.tuples(
            st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
            st.booleans(),
            st.text(max_size=5),
        ),
        max_size=20,
    )
)
def test_a_table_holds_what_its_columns_held(rows: list[tuple[int, float | None, bool, str]]) -> None:
    integers, floats, bools, texts = zip(*rows, strict=True) if rows else ((), (), (), ())
    table = wire.to_table(
        wire.numbers(np.array(integers, np.int64), null=np.array([i == 7 for i in integers], bool)),
        wire.numbers(np.array(floats, np.float64)),
        wire.numbers(np.array(bools, bool)),
        wire.strings([text.encode() for text in texts]),
    )
    expected = [
        (
            None if integer == 7 else struct.pack(">q", integer),
            None if number is None else struct.pack(">d", number),
            bytes([flag]),
            text.encode(),
        )
        for integer, number, flag, text in rows
    ]
    assert decoded(table) == expected


def decoded(table: bytes) -> list[tuple[bytes | None, ...]]:
    """The rows of a binary COPY, read field by field."""
    assert table[:11] == b"PGCOPY\n\xff\r\n\0"
    at, rows = 19, []
    while (count := struct.unpack_from(">h", table, at)[0]) != -1:
        at, row = at + 2, []
        for _ in range(count):
            size = struct.unpack_from(">i", table, at)[0]
            row.append(table[at + 4 : at + 4 + size] if size >= 0 else None)
            at += 4 + max(size, 0)
        rows.append(tuple(row))
    assert at + 2 == len(table)
    return rows


@pytest.mark.parametrize("size", [2, 4, 8])
@given(parts=st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=6))
def test_many_arrays_come_back_as_they_went(size: int, parts: list[list[int]]) -> None:
    values = np.array([value for part in parts for value in part], np.dtype(f"i{size}"))
    encoded = list(wire.to_arrays(values, np.cumsum([0, *map(len, parts)])))
    back, lengths = wire.from_arrays(encoded, size)
    assert (back.dtype, back.tolist(), lengths.tolist()) == (values.dtype, values.tolist(), list(map(len, parts)))
    assert [wire.from_array(each, size).tolist() for each in encoded] == parts
