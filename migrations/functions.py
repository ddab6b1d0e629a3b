"""Install `sql/functions`: each file makes functions in a schema of their own.

The schema is not called `ragledger`: "$user" comes first in the default search path, so a schema named like the role
would also take in the tables.
"""

from pathlib import Path

from alembic import op
from sqlalchemy import text

FUNCTIONS = Path(__file__).resolve().parents[1] / "sql" / "functions"
SCHEMA = "ragledger_audit"


def install_functions() -> None:
    """Run every file in the order of names. A later migration calls this again after a function changed."""
    op.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    drop_functions()
    # an early migration installs the files of today, which may read columns of later ones
    op.execute("SET LOCAL check_function_bodies = off")
    for file in sorted(FUNCTIONS.glob("*.sql")):
        # the driver's own cursor: SQLAlchemy would read ":name" in a function body as a parameter
        op.get_bind().exec_driver_sql(file.read_text(encoding="utf-8").replace("%", "%%"))


def drop_functions() -> None:
    """Drop what this schema holds of functions, and nothing else: CREATE OR REPLACE cannot change result columns."""
    found = text("SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = to_regnamespace(:schema)")
    for (name,) in op.get_bind().execute(found, {"schema": SCHEMA}).fetchall():
        op.execute(f"DROP FUNCTION {name} CASCADE")
