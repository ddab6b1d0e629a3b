"""Arrays and vectors at numpy speed: PostgreSQL's binary formats.

Of an array: int32 dimensions, int32 flags, oid of the element, then per dimension length and lower bound, then each
element as (int32 size, value), big-endian. Source: array_send and array_recv in the PostgreSQL sources.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from app.records import Ints

Integers = NDArray[np.signedinteger[Any]]

NO_IDS: Ints = np.empty(0, np.int64)
_OID = {2: 21, 4: 23, 8: 20}  # int2, int4, int8
_ELEMENT = {size: np.dtype([("size", ">i4"), ("value", f">i{size}")]) for size in _OID}
_HEADER = 20  # of one dimension; an empty array has none, and 12 bytes in all
_BLOCK_BYTES = 1 << 22
_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)


def to_array(values: Integers) -> bytes:
    """Encode (n,) int16, int32 or int64 as one binary array value."""
    return next(to_arrays(values, np.array([0, len(values)])))


def to_arrays(values: Integers, starts: Ints) -> Iterator[bytes]:
    """Encode many arrays that stand one after the other: values[starts[i] : starts[i + 1]]."""
    size = values.dtype.itemsize
    elements = np.empty(len(values), _ELEMENT[size])
    elements["size"], elements["value"] = size, values
    data, width = memoryview(elements.tobytes()), size + 4
    for start, end in pairwise(starts.tolist()):
        if end > start:
            yield struct.pack(">iiIii", 1, 0, _OID[size], end - start, 1) + data[start * width : end * width]
        else:
            yield struct.pack(">iiI", 0, 0, _OID[size])


def from_array(value: bytes, size: int) -> Integers:
    """Decode one binary array value without NULLs to (n,) native integers of `size` bytes."""
    return np.frombuffer(value[_HEADER:], _ELEMENT[size])["value"].astype(f"i{size}")


def from_arrays(values: Sequence[bytes], size: int) -> tuple[Integers, Ints]:
    """Decode many at once: the integers one after the other, and the length of each array."""
    bodies = [value[_HEADER:] for value in values]
    lengths = np.fromiter(map(len, bodies), np.int64, len(bodies)) // (size + 4)
    return np.frombuffer(b"".join(bodies), _ELEMENT[size])["value"].astype(f"i{size}"), lengths


def to_rows(keys: Sequence[int | Integers], vectors: NDArray[np.floating[Any]]) -> Iterator[bytes]:
    """Encode a table of integer columns and one vector column for COPY in binary, in blocks of some megabytes.

    keys: int64 or int32 (n,) each, or an int as bigint in every row; vectors (n, dim): float32 makes vector, float16
    halfvec. Format: the COPY page of the PostgreSQL manual; vector_recv and halfvec_recv in pgvector's sources.
    """
    columns = [np.asarray(key) for key in keys]
    dim, size = vectors.shape[1], vectors.dtype.itemsize
    fields: list[Any] = [("fields", ">i2")]
    for place, column in enumerate(columns):
        fields += [(f"size{place}", ">i4"), (f"key{place}", f">i{column.dtype.itemsize}")]
    fields += [("size", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("vector", f">f{size}", (dim,))]
    row = np.dtype(fields)
    rows_per_block = max(1, _BLOCK_BYTES // row.itemsize)
    yield _COPY_HEADER
    for start in range(0, len(vectors), rows_per_block):
        part = vectors[start : start + rows_per_block]
        block = np.zeros(len(part), row)
        block["fields"] = len(columns) + 1
        for place, column in enumerate(columns):
            block[f"size{place}"] = column.dtype.itemsize
            block[f"key{place}"] = column[start : start + rows_per_block] if column.ndim else column
        block["size"], block["dim"], block["vector"] = 4 + dim * size, dim, part
        yield block.tobytes()
    yield _COPY_END


@dataclass(frozen=True, slots=True)
class Bigints:
    """A parameter that goes as one bigint[]: a list of a hundred thousand ids would cost more than its query."""

    values: Ints | Sequence[int]


class _BigintsDumper(Dumper):
    format = Format.BINARY
    oid = 1016  # bigint[]

    def dump(self, obj: Bigints) -> Buffer:
        return to_array(np.ascontiguousarray(obj.values, np.int64))


psycopg.adapters.register_dumper(Bigints, _BigintsDumper)


@dataclass(frozen=True, slots=True)
class Column:
    """Values as (n, width) bytes, each with its size before it; those that are not `kept` (n, width) are padding."""

    cells: NDArray[np.uint8]
    kept: NDArray[np.bool_]


def numbers(values: NDArray[Any], *, null: NDArray[np.bool_] | None = None) -> Column:
    """(n,) integers, floats or bools; NULL where `null` says so, and where a float is NaN."""
    if null is None:
        null = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    cells = np.empty(len(values), [("size", ">i4"), ("value", values.dtype.newbyteorder(">"))])
    cells["size"], cells["value"] = np.where(null, -1, values.dtype.itemsize), values
    flat = cells.view(np.uint8).reshape(len(values), cells.itemsize)
    return Column(flat, (np.arange(flat.shape[1]) < 4) | ~null[:, None])


def strings(values: Sequence[bytes]) -> Column:
    """Values of any length in the binary format of their type; a text's is its UTF-8."""
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    width = int(sizes.max(initial=1))
    cells = np.empty(len(values), [("size", ">i4"), ("value", f"S{width}")])
    cells["size"], cells["value"] = sizes, values
    flat = cells.view(np.uint8).reshape(len(values), cells.itemsize)
    return Column(flat, np.arange(flat.shape[1]) < 4 + sizes[:, None])


def to_table(*columns: Column) -> bytes:
    """Columns, equally long, as the whole of a binary COPY. Source: COPY, in the PostgreSQL manual."""
    count = np.tile(np.frombuffer(struct.pack(">h", len(columns)), np.uint8), (len(columns[0].cells), 1))
    cells = np.hstack([count, *(column.cells for column in columns)])
    kept = np.hstack([np.ones(count.shape, bool), *(column.kept for column in columns)])
    rows: bytes = cells[kept].tobytes()
    return _COPY_HEADER + rows + _COPY_END
