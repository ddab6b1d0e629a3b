-- name: revisions
SELECT version_num FROM alembic_version;
