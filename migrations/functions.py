"""Install `sql/functions`: each file creates or replaces functions in the schema `ragledger`."""

from pathlib import Path

from alembic import op

FUNCTIONS = Path(__file__).resolve().parents[1] / "sql" / "functions"


def install_functions() -> None:
    """Run every file in the order of names. A later migration calls this again after a function changed."""
    op.execute("DROP SCHEMA IF EXISTS ragledger CASCADE")  # REPLACE cannot change a function's result columns
    op.execute("CREATE SCHEMA ragledger")
    for file in sorted(FUNCTIONS.glob("*.sql")):
        # the driver's own cursor: SQLAlchemy would read ":name" in a function body as a parameter
        op.get_bind().exec_driver_sql(file.read_text(encoding="utf-8").replace("%", "%%"))
