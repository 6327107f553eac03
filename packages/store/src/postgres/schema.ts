/** A journal: its columns, and how many days a partition holds. */
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
 * Version 1. Times are epoch milliseconds. Names may be of any length and an index takes only short ones, so it is their
 * hashes that are indexed. What users hand in is text and not jsonb, which refuses some of what JSON can say.
 */
export const migration1 = (schema: string): string => `
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
    -- The transaction that changed it last, in a word of its own.
    change uuid NOT NULL,
    error_details text NOT NULL,
    -- The other fields, as JSON.
    rest text NOT NULL,
    original_payload text NOT NULL
  );
  CREATE INDEX dead_letters_by_operation ON "${schema}".dead_letters (operation, status, created_at, seq);
  -- An entry is in one of these two: a change of status touches every index there is.
  CREATE INDEX dead_letters_open ON "${schema}".dead_letters (created_at, seq) WHERE status <> 'completed';
  CREATE INDEX dead_letters_completed ON "${schema}".dead_letters (created_at, seq) WHERE status = 'completed';
  CREATE INDEX dead_letters_requested ON "${schema}".dead_letters (created_at, seq)
    WHERE replay_requested_at IS NOT NULL;

  -- How many dead letters there are: sums over shards, so that those who add at a time do not wait for each other.
  CREATE TABLE "${schema}".dead_letter_counts (
    operation uuid NOT NULL, status text COLLATE "C" NOT NULL, shard smallint NOT NULL,
    operation_type text NOT NULL, entries bigint NOT NULL,
    PRIMARY KEY (operation, status, shard)
  ) WITH (fillfactor = 50);
  -- Ids of what was completed, for ever.
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
