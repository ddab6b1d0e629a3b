"""Decoded parts of the inverted index, which never change, in a cache bounded by bytes."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol

_ENTRY_BYTES = 600  # measured: the key, the objects and their arrays' own


class Kept(Protocol):
    """What can be kept: it knows the bytes of its arrays."""

    @property
    def nbytes(self) -> int: ...


class SegmentCache:
    """The least recently used goes first. Safe to share between threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """The memory that the entries take."""
        return self._bytes

    def get(self, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """Those of some entries that are kept."""
        found = {}
        with self._lock:
            for key in keys:
                if (value := self._kept.get(key)) is not None:
                    self._kept.move_to_end(key)
                    found[key] = value
        return found

    def put(self, values: Mapping[Any, Kept]) -> None:
        """Keep entries; one that is larger than the whole cache is not kept."""
        with self._lock:
            for key, value in values.items():
                self._drop(key)
                if (size := _size(value)) <= self._max_bytes:
                    self._kept[key] = value
                    self._bytes += size
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        if (value := self._kept.pop(key, None)) is not None:
            self._bytes -= _size(value)


def _size(value: Kept) -> int:
    return _ENTRY_BYTES + value.nbytes
