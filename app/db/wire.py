"""int[] and smallint[] columns at numpy speed: PostgreSQL's binary array format, in and out.

Format: int32 dimensions, int32 flags, oid of the element, then per dimension length and lower bound, then each element
as (int32 size, value), big-endian. Source: array_send and array_recv in the PostgreSQL sources.
"""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OID = {2: 21, 4: 23, 8: 20}  # int2, int4, int8
_ELEMENT = {size: np.dtype([("size", ">i4"), ("value", f">i{size}")]) for size in _OID}
_EMPTY_HEADER = 12  # an empty array has no dimension
_HEADER = 20


def to_array(values: NDArray[np.signedinteger[Any]]) -> bytes:
    """Encode (n,) int16, int32 or int64 as one binary array value."""
    size = values.dtype.itemsize
    if not len(values):
        return struct.pack(">iiI", 0, 0, _OID[size])
    elements = np.empty(len(values), _ELEMENT[size])
    elements["size"], elements["value"] = size, values
    return struct.pack(">iiIii", 1, 0, _OID[size], len(values), 1) + elements.tobytes()


def from_array(value: bytes, size: int) -> NDArray[np.signedinteger[Any]]:
    """Decode one binary array value without NULLs to (n,) native integers of `size` bytes."""
    if len(value) == _EMPTY_HEADER:
        return np.empty(0, f"i{size}")
    return np.frombuffer(value, _ELEMENT[size], offset=_HEADER)["value"].astype(f"i{size}")
