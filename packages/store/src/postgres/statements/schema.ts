import type { QualifyTable } from './parameters.js'

/** The sequence, table and index of a journal. */
const createJournal = (schema: string, name: string, columns: string) => `
  CREATE SEQUENCE "${schema}"."${name}_seq";
  CREATE TABLE "${schema}"."${name}" (
    seq bigint NOT NULL DEFAULT nextval('"${schema}"."${name}_seq"'),
    time bigint NOT NULL,
    ${columns},
    body text NOT NULL
  ) PARTITION BY RANGE (time);
  CREATE INDEX ON "${schema}"."${name}" (seq);`

/**
 * Version 1. Times are epoch milliseconds. Names can have any length and an index entry cannot, so hashes of names are indexed.
 * Values of users are text and not jsonb, because jsonb rejects some valid JSON.
 */
const migration1 = (schema: string): string => `
  ${createJournal(
    schema,
    'sessions',
    'session_id text, operation text, subsystem text, correlation_id text, success boolean, policy_id text',
  )}
  CREATE INDEX ON "${schema}".sessions USING hash (session_id);
  ${createJournal(schema, 'events', 'event_id text COLLATE "C", event_type text, operation text, session_id text')}
  ${createJournal(schema, 'errors', 'severity text, category text, operation text')}
  ${createJournal(schema, 'audit', 'actor text, action text, target text')}
  ${createJournal(schema, 'breaker_events', 'id text')}

  CREATE TABLE "${schema}".dead_letters (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    key uuid NOT NULL UNIQUE,
    operation uuid NOT NULL,
    dlq_id text NOT NULL,
    operation_type text NOT NULL,
    item_id text NOT NULL,
    status text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    last_attempt bigint NOT NULL,
    replayed_at bigint,
    leased_until bigint,
    lease_owner text,
    replay_requested_at bigint,
    -- Identifies the transaction that changed the entry last.
    change uuid NOT NULL,
    error_details text NOT NULL,
    -- The other fields, as JSON.
    rest text NOT NULL,
    original_payload text NOT NULL
  );
  CREATE INDEX dead_letters_by_operation ON "${schema}".dead_letters (operation, status, created_at, seq);
  -- Partial indexes, because a change of status updates every index that contains the entry.
  CREATE INDEX dead_letters_open ON "${schema}".dead_letters (created_at, seq) WHERE status <> 'completed';
  CREATE INDEX dead_letters_completed ON "${schema}".dead_letters (created_at, seq) WHERE status = 'completed';
  CREATE INDEX dead_letters_requested ON "${schema}".dead_letters (created_at, seq)
    WHERE replay_requested_at IS NOT NULL;

  -- Number of dead letters, split into shards so that concurrent inserts do not wait for each other.
  CREATE TABLE "${schema}".dead_letter_counts (
    operation uuid NOT NULL, status text COLLATE "C" NOT NULL, shard smallint NOT NULL,
    operation_type text NOT NULL, entries bigint NOT NULL,
    PRIMARY KEY (operation, status, shard)
  ) WITH (fillfactor = 50);
  -- Ids of all entries that were ever completed.
  CREATE TABLE "${schema}".processed_ids (id uuid PRIMARY KEY, dlq_id text NOT NULL, completed_at bigint NOT NULL);

  CREATE TABLE "${schema}".circuit_breaker_states (
    key uuid PRIMARY KEY, id text NOT NULL, state text NOT NULL, updated_at bigint NOT NULL, body text NOT NULL
  );
  CREATE TABLE "${schema}".config_layers (
    version integer PRIMARY KEY, changed_by text NOT NULL, reason text, at bigint NOT NULL, layer text NOT NULL
  );
  CREATE TABLE "${schema}".metrics (
    start bigint NOT NULL, key uuid NOT NULL, series text COLLATE "C" NOT NULL, node text COLLATE "C" NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (start, key)
  );
  CREATE TABLE "${schema}".named_values (id uuid PRIMARY KEY, key text COLLATE "C" NOT NULL, value text NOT NULL);
`

/** Version 2: the payload that an operator replaced the original one with. Earlier releases ignore it. */
const migration2 = (schema: string): string =>
  `ALTER TABLE "${schema}".dead_letters ADD COLUMN edited_payload text;`

/** A migration of the schema from one version to the next. */
interface SchemaMigration {
  sql(schema: string): string
  /**
   * The oldest schema version that a release must support to use the result. A migration that only adds (a table, an index, a
   * nullable column) keeps the previous value, so that old and new releases run side by side.
   */
  oldest: number
}

/** The list is append-only, because a schema can have any version. */
export const MIGRATIONS: readonly SchemaMigration[] = [
  { sql: migration1, oldest: 1 },
  { sql: migration2, oldest: 1 },
]

export const SELECT_SCHEMA = 'SELECT 1 FROM pg_namespace WHERE nspname = $1'

export const createSchema = (schema: string): string => `CREATE SCHEMA "${schema}"`

/** Values: the schema and the name of a table. */
export const SELECT_TABLE = 'SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2'

export function migrationStatements(tableName: QualifyTable) {
  const table = tableName('migrations')
  return {
    createTable: `CREATE TABLE IF NOT EXISTS ${table}
      (version integer PRIMARY KEY, oldest integer NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
    insert: `INSERT INTO ${table} (version, oldest) VALUES ($1, $2)`,
    selectLatest: `SELECT version, oldest FROM ${table} ORDER BY version DESC LIMIT 1`,
  }
}
