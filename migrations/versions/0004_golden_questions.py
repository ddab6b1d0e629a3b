"""Make room for a collection's golden questions.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "golden_question",
        sa.Column("collection_id", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("key", "question")),
        sa.Column("gold", postgresql.JSONB(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collection.id"], name=op.f("golden_question_collection_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("collection_id", "id", name=op.f("golden_question_pkey")),
        sa.UniqueConstraint("collection_id", "key", name=op.f("golden_question_collection_id_key_key")),
    )


def downgrade() -> None:
    op.drop_table("golden_question")
