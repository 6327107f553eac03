/**
 * A journal is one table with several records per row, because inserting a row costs more than most records do. Records are
 * numbered. The body of a row has the records `first` to `last` as a JSON array, deflated if they are old, with null for deleted
 * ones. An array inside it contains deltas: each record has only the fields that differ from the previous one, and under `-` the
 * names of removed fields. The columns before the body have the distinct values of its records as JSON, so that rows without a
 * wanted value need not be read.
 */
const createTable = (name: string, columns: readonly string[]) => `
  CREATE TABLE ${name} (
    last INTEGER PRIMARY KEY AUTOINCREMENT,
    first INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    oldest INTEGER NOT NULL,
    newest INTEGER NOT NULL,
    ${columns.map((column) => `${column} TEXT`).join(', ')},
    body NOT NULL
  );`

/** The distinct values of a column of version 1. */
const columnValues = (column: string) =>
  `json_group_array(DISTINCT ${column}) FILTER (WHERE ${column} IS NOT NULL)`

/** Migrates a journal of version 1, in which each record also had a row of its own. */
const migrateJournal = (name: string, columns: Record<string, string>) => `
  ${createTable(`packed_${name}`, Object.keys(columns))}
  INSERT INTO packed_${name}
    SELECT held.last, held.first, held.last - held.first + 1, min(time), max(time), ${Object.values(columns).join(', ')}, body
    FROM ${name}_bodies AS held JOIN ${name} ON seq BETWEEN held.first AND held.last GROUP BY held.first;
  DROP TABLE ${name}_bodies;
  DROP TABLE ${name};
  ALTER TABLE packed_${name} RENAME TO ${name};`

/** Version 2. */
export const MIGRATION_2 = `
  -- The record numbers of sessions by id.
  CREATE TABLE session_ids (session_id TEXT, seq INTEGER, PRIMARY KEY (session_id, seq)) WITHOUT ROWID;
  INSERT INTO session_ids SELECT session_id, seq FROM sessions;
  ${migrateJournal('sessions', {
    session_ids: columnValues('session_id'),
    operations: columnValues('operation'),
    subsystems: columnValues('subsystem'),
    correlation_ids: columnValues('correlation_id'),
    successes: columnValues('CAST(success AS TEXT)'),
    // Version 1 had several ids in one column, one per line.
    policy_ids: `replace(${columnValues('policy_ids')}, '\\n', '","')`,
  })}
  ${migrateJournal('events', {
    last_event_id: 'max(event_id)',
    event_types: columnValues('event_type'),
    operations: columnValues('operation'),
    session_ids: columnValues('session_id'),
  })}
  ${migrateJournal('errors', {
    severities: columnValues('severity'),
    categories: columnValues('category'),
    operations: columnValues('operation'),
  })}
  ${migrateJournal('audit', { actors: columnValues('actor'), actions: columnValues('action'), targets: columnValues('target') })}
  ${migrateJournal('breaker_events', { ids: columnValues('id') })}
`
