import { arrayParameters, type QualifyTable } from './parameters.js'

/** Statements about one journal. `name` is its table. */
export function journalStatements(tableName: QualifyTable, name: string) {
  const table = tableName(name)
  return {
    /** Inserts records in the order of the arrays: time, the given columns, body. */
    insert(columnTypes: Readonly<Record<string, string>>): string {
      const columns = { time: 'bigint', ...columnTypes, body: 'text' }
      const names = Object.keys(columns).join(', ')
      const arrays = arrayParameters(Object.values(columns), 1)
      return `INSERT INTO ${table} (${names})
        SELECT ${names} FROM unnest(${arrays}) WITH ORDINALITY AS given (${names}, place) ORDER BY place`
    },
    /** How many different ones of some records are among the latest ones, by the index on seq. */
    countAmongLatest: (limit: number): string =>
      `SELECT count(DISTINCT body) AS n FROM ${table}
        WHERE seq > (SELECT last_value FROM ${tableName(`${name}_seq`)}) - ${limit} AND body = ANY($1::text[])`,
    select: (conditions: readonly string[], isNewestFirst: boolean, limit: number): string =>
      `SELECT seq, body FROM ${table} WHERE ${conditions.join(' AND ')}
        ORDER BY seq ${isNewestFirst ? 'DESC' : 'ASC'} LIMIT ${limit}`,
    /** The number of the oldest record to keep, if a number of records is kept. */
    selectOldestKept: `SELECT seq + 1 AS seq FROM ${table} ORDER BY seq DESC OFFSET $1 LIMIT 1`,
    count: `SELECT count(*) AS n FROM ${table}`,
    selectSession: `SELECT seq, body FROM ${table} WHERE session_id = $1 ORDER BY seq DESC LIMIT 1`,
  }
}

/** Statements about the partitions of one journal. Names of partitions are qualified. */
export function partitionStatements(tableName: QualifyTable, name: string) {
  const parent = tableName(name)
  return {
    create: (partition: string): string => `CREATE TABLE ${partition} (LIKE ${parent} INCLUDING DEFAULTS)`,
    /** ATTACH does not block writes to other partitions, as CREATE TABLE … PARTITION OF would. */
    attach: (partition: string, from: number, to: number): string =>
      `ALTER TABLE ${parent} ATTACH PARTITION ${partition} FOR VALUES FROM (${from}) TO (${to})`,
    /** Selects the names of partitions by the name of the parent. */
    selectNames: `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = $1::regclass`,
    count: (partition: string): string => `SELECT count(*) AS rows, max(seq) AS last FROM ${partition}`,
    lockParent: `LOCK TABLE ONLY ${parent} IN ACCESS EXCLUSIVE MODE`,
    drop: (partition: string): string => `DROP TABLE ${partition}`,
    deleteBefore: (partition: string, column: 'seq' | 'time'): string =>
      `DELETE FROM ${partition} WHERE ${column} < $1`,
  }
}
