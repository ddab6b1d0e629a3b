"""Positions in the log, and the addresses of replicas."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from app.db import positions, replicas
from app.errors import DatabaseUnavailable


@given(st.integers(0, 2**64 - 1))
def test_a_position_is_read_as_it_was_told(position: int) -> None:
    assert positions.parse(positions.tell(position)) == position


def test_positions_are_numbers_as_postgresql_orders_them() -> None:
    assert positions.parse("0/16B3748") == 0x16B3748
    assert positions.parse("1/0") == 2**32
    assert positions.parse("a/F") > positions.parse("9/FFFFFFFF")


@given(st.text() | st.sampled_from(["", "0", "0/", "/0", "0/1/2", "-1/0", "0/123456789", "0x1/0", "0/1 ", "０/１"]))
def test_anything_else_is_no_position(text: str) -> None:
    if not re.fullmatch("[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}", text):
        with pytest.raises(ValueError, match="no position"):
            positions.parse(text)


def hosts(url: str) -> list[tuple[object, object]]:
    return [(parts.get("host"), parts.get("port") or None) for parts in map(conninfo_to_dict, replicas.addresses(url))]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://u:p@one/db", [("one", None)]),
        ("postgresql://u:p@one:1,two:2/db?load_balance_hosts=random", [("one", "1"), ("two", "2")]),
        ("postgresql://u:p@one,two/db", [("one", None), ("two", None)]),
        ("postgresql://u:p@/db?host=one,two&port=7", [("one", "7"), ("two", "7")]),
        ("postgresql://u:p@[::1]:1,[::2]:2/db", [("::1", "1"), ("::2", "2")]),
        ("postgresql:///db", [(None, None)]),
    ],
)
def test_each_host_has_an_address_of_its_own(url: str, expected: list[tuple[object, object]]) -> None:
    assert hosts(url) == expected


def test_an_address_keeps_the_rest_of_the_url() -> None:
    (first, second) = map(conninfo_to_dict, replicas.addresses("postgresql://u:p%40@one,two/db?sslmode=require"))
    for address in (first, second):
        assert (address["user"], address["password"], address["dbname"]) == ("u", "p@", "db")
        assert address["sslmode"] == "require"


@pytest.mark.parametrize("url", ["postgresql://u:secret@one:1,two:2,three:3/db?port=1,2", "postgresql://u:secret%@one"])
def test_a_bad_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="DATABASE_READ_URL") as refused:
        replicas.addresses(url)
    assert "secret" not in str(refused.value)
