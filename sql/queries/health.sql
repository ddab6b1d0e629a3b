-- name: has_tables
SELECT to_regclass('alembic_version') IS NOT NULL;

-- name: revisions
SELECT version_num FROM alembic_version;
