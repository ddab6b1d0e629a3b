"""The driver's errors in the domain's words, once, at the border."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from app.errors import Conflict, DatabaseUnavailable, InvalidInput, NotFound, RagledgerError

_TABLES = "the tables are not those of this version, run `ragledger migrate`"
# the first that fits; anything else is a fault of ours and stays what it is
_TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], Callable[[str], RagledgerError]], ...] = (
    (
        (errors.UniqueViolation, errors.SerializationFailure, errors.DeadlockDetected),
        lambda _: Conflict("another writer changed the same thing first; try again"),
    ),
    ((errors.ForeignKeyViolation,), lambda _: NotFound("what this belongs to was deleted meanwhile")),
    (
        (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn),
        lambda said: DatabaseUnavailable(f"{_TABLES}: {said}"),
    ),
    ((errors.ProgramLimitExceeded,), lambda _: InvalidInput("text", "is too long for what it is to be stored as")),
    (
        (errors.UntranslatableCharacter, errors.CharacterNotInRepertoire),
        lambda _: InvalidInput("text", "contains a character that PostgreSQL cannot store"),
    ),
    ((errors.ReadOnlySqlTransaction,), lambda _: DatabaseUnavailable("the database takes no writes: is it a replica?")),
    (
        (errors.QueryCanceled,),
        lambda _: DatabaseUnavailable("a statement took longer than DATABASE_TIMEOUT_SECONDS"),
    ),
    (
        (PoolTimeout,),
        lambda _: DatabaseUnavailable("no database connection became free, or the server does not answer"),
    ),
    (
        (psycopg.OperationalError, psycopg.InterfaceError),
        lambda said: DatabaseUnavailable(f"the database does not answer: {said}"),
    ),
)


@contextmanager
def translated(setting: str = "DATABASE_URL") -> Iterator[None]:
    """Turn the driver's errors into the domain's. `setting` is where the address stands, in case it is none."""
    try:
        yield
    except psycopg.Error as e:
        for kinds, made in _TRANSLATIONS:
            if isinstance(e, kinds):
                raise made(_first_line(e)) from e
        if isinstance(e, psycopg.ProgrammingError) and e.sqlstate is None:  # not the server's word, but libpq's
            # without its words: they quote the URL, password and all
            raise DatabaseUnavailable(f"{setting} is no address: write special characters as %XX") from None
        raise


def _first_line(error: Any) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
