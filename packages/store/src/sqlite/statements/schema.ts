import { MIGRATION_2 } from './schema-journals.js'

/** The two tables of a journal: the columns by which records are found, and the records themselves, several per row. */
const createJournal = (name: string, columns: string) => `
  CREATE TABLE ${name} (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    ${columns}
  );
  -- The records numbered first to last: JSON in an array, or the same deflated.
  CREATE TABLE ${name}_bodies (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, body NOT NULL);`

/** Version 1. Times are epoch milliseconds unless a comment says otherwise. */
const MIGRATION_1 = `
  ${createJournal(
    'sessions',
    'session_id TEXT, operation TEXT, subsystem TEXT, correlation_id TEXT, success INTEGER, policy_ids TEXT',
  )}
  CREATE INDEX sessions_by_id ON sessions (session_id);
  ${createJournal('events', 'event_id TEXT, event_type TEXT, operation TEXT, session_id TEXT')}
  ${createJournal('errors', 'severity TEXT, category TEXT, operation TEXT')}
  ${createJournal('audit', 'actor TEXT, action TEXT, target TEXT')}
  ${createJournal('breaker_events', 'id TEXT')}

  CREATE TABLE dead_letters (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    dlq_id TEXT NOT NULL UNIQUE,
    idempotency_key TEXT NOT NULL,
    key_hash INTEGER NOT NULL,
    operation_type TEXT NOT NULL,
    item_id TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    leased_until INTEGER,
    lease_owner TEXT,
    replay_requested_at INTEGER,
    -- The other fields, as JSON.
    entry TEXT NOT NULL,
    original_payload TEXT NOT NULL
  );
  -- Lists are sorted by operation, status and age, or by status and age. An item id is found within the index.
  CREATE INDEX dead_letters_by_operation ON dead_letters (operation_type, status, created_at, seq, item_id);
  CREATE INDEX dead_letters_by_status ON dead_letters (status, created_at, seq, item_id);
  CREATE INDEX dead_letters_by_key ON dead_letters (key_hash);
  CREATE INDEX dead_letters_requested ON dead_letters (created_at, seq) WHERE replay_requested_at IS NOT NULL;

  -- Number of dead letters, because counting a million rows takes too long.
  CREATE TABLE dead_letter_counts (
    operation_type TEXT NOT NULL, status TEXT NOT NULL, entries INTEGER NOT NULL,
    PRIMARY KEY (operation_type, status)
  ) WITHOUT ROWID;
  -- Ids of all entries that were ever completed.
  CREATE TABLE processed_ids (dlq_id TEXT PRIMARY KEY, completed_at INTEGER NOT NULL) WITHOUT ROWID;

  -- Times of this table are epoch seconds or ISO 8601. Other programs know the columns before epoch.
  CREATE TABLE circuit_breaker_states (
    proxy_id TEXT NOT NULL,
    state TEXT NOT NULL,
    failure_count INTEGER NOT NULL,
    failure_window_json TEXT NOT NULL,
    next_test_time REAL,
    last_state_change TIMESTAMP,
    failure_threshold INTEGER,
    window_duration REAL,
    timeout_duration REAL,
    created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    epoch INTEGER NOT NULL,
    opened_in_a_row INTEGER NOT NULL,
    id TEXT PRIMARY KEY,
    success_count INTEGER NOT NULL,
    window_type TEXT NOT NULL,
    last_failure_time REAL,
    closed_at REAL,
    results TEXT,
    disabled INTEGER
  );

  CREATE TABLE config_layers (
    version INTEGER PRIMARY KEY, changed_by TEXT NOT NULL, reason TEXT, at TIMESTAMP NOT NULL, layer TEXT NOT NULL
  );
  CREATE TABLE metrics (
    series TEXT NOT NULL, start INTEGER NOT NULL, node TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (series, start, node)
  ) WITHOUT ROWID;
  CREATE INDEX metrics_by_start ON metrics (start);
  CREATE TABLE named_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`

/** Version 3: columns for restoring a breaker, in addition to those that other programs know. */
const MIGRATION_3 = `
  ALTER TABLE circuit_breaker_states ADD COLUMN window_json TEXT;
  ALTER TABLE circuit_breaker_states ADD COLUMN open_duration REAL;
  ALTER TABLE circuit_breaker_states ADD COLUMN unchanged INTEGER;
`

/** Version 4: the duration for which a breaker was tripped. */
const MIGRATION_4 = `
  ALTER TABLE circuit_breaker_states ADD COLUMN trip_duration REAL;
`

/** The migrations from each version to the next. The list is append-only, because a file can have any version. */
export const MIGRATIONS: readonly string[] = [MIGRATION_1, MIGRATION_2, MIGRATION_3, MIGRATION_4]

export const COUNT_SCHEMA_OBJECTS = 'SELECT count(*) AS n FROM sqlite_schema'

export const GET_APPLICATION_ID = 'PRAGMA application_id'
export const setApplicationId = (id: number): string => `PRAGMA application_id = ${id}`

export const GET_SCHEMA_VERSION = 'PRAGMA user_version'
export const setSchemaVersion = (version: number): string => `PRAGMA user_version = ${version}`
