/**
 * A journal is one table whose rows hold several records each: inserting a row costs more than most records do. Records
 * are numbered; a row holds those from `first` to `last`, as JSON in an array, or the same deflated, and null for those
 * that left before the others. An array inside it stands for records of which each says what it has otherwise than the one
 * before, and under `-` the names of what it has no longer: most of what a record says the one before said too. The columns before it tell, as JSON, which values its records have among them, so that
 * rows without the one that is looked for need not be read.
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

/** The values of a column of version 1, as the column of a row. */
const columnValues = (column: string) =>
  `json_group_array(DISTINCT ${column}) FILTER (WHERE ${column} IS NOT NULL)`

/** Brings a journal of version 1, where each record had a row of its own besides, over. */
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
  -- Where the sessions lie that are asked for by their ids.
  CREATE TABLE session_ids (session_id TEXT, seq INTEGER, PRIMARY KEY (session_id, seq)) WITHOUT ROWID;
  INSERT INTO session_ids SELECT session_id, seq FROM sessions;
  ${migrateJournal('sessions', {
    session_ids: columnValues('session_id'),
    operations: columnValues('operation'),
    subsystems: columnValues('subsystem'),
    correlation_ids: columnValues('correlation_id'),
    successes: columnValues('CAST(success AS TEXT)'),
    // Several ids stood in one column, a line each.
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
