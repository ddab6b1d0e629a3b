-- name: has_tables
SELECT to_regclass('alembic_version') IS NOT NULL;

-- name: revisions
SELECT version_num FROM alembic_version;

-- name: pgvector_version
-- The installed one, or before the first migration the one that could be installed; no row where there is none.
SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector';

-- name: begin_snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: begin_write
-- Said, whatever the role's default is: writers that wait for a row's lock go on with its newest version.
BEGIN ISOLATION LEVEL READ COMMITTED;

-- name: unhurried
SET LOCAL statement_timeout = 0;

-- name: cluster
SELECT system_identifier FROM pg_control_system();

-- name: position
-- Asked after a commit has returned, so that its record lies before: what was flushed, or where a commit does not wait
-- for that, what was inserted. (Others' unflushed records, such as the ledger's, would keep replicas waiting for nothing.)
SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
       ELSE pg_current_wal_flush_lsn() END::text;

-- name: replayed
-- A server that was promoted still tells where its replay ended.
SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= %(position)s::pg_lsn, false);
