-- name: has_tables
SELECT to_regclass('alembic_version') IS NOT NULL;

-- name: revisions
SELECT version_num FROM alembic_version;

-- name: pgvector_version
-- The installed one, or before the first migration the one that could be installed; no row where there is none.
SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector';
