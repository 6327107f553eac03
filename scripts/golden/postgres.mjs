// A dump of a PostgreSQL store as SQL. pg_dump must be at least as new as the server, so this is done without it: the statements that
// created the schema are recorded, and the rows are read.
import pg from 'pg'

/**
 * Records the statements that define the schema while `fn` runs.
 *
 * @param {() => Promise<void>} fn
 * @returns {Promise<string[]>}
 */
export async function recordSchema(fn) {
  /** @type {string[]} */
  const statements = []
  const original = pg.Client.prototype.query
  pg.Client.prototype.query = /** @type {any} */ (
    /** @this {pg.Client} @param {any} first @param {any[]} rest */
    function record(first, ...rest) {
      const text = typeof first === 'string' ? first : first?.text
      if (typeof text === 'string' && /^\s*(?:CREATE|ALTER|COMMENT)\b/i.test(text))
        statements.push(text.trim())
      return /** @type {any} */ (original).call(this, first, ...rest)
    }
  )
  try {
    await fn()
  } finally {
    pg.Client.prototype.query = original
  }
  return statements
}

/**
 * Writes the schema and all rows as SQL that a new database accepts.
 *
 * @param {string} url
 * @param {readonly string[]} statements
 */
export async function toSql(url, statements) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const lines = statements.map((text) => `${text.replace(/;?$/, ';')}`)
    const tables = await client.query(
      `SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name,
         (SELECT json_agg(attname ORDER BY attnum) FROM pg_attribute
          WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       ORDER BY 2`,
    )
    for (const { name, columns } of tables.rows) {
      const list = columns.map((/** @type {string} */ column) => client.escapeIdentifier(column))
      const values = list
        .map((/** @type {string} */ column) => `quote_nullable(${column}::text)`)
        .join(`, ', ', `)
      const { rows } = await client.query(`SELECT concat(${values}) AS row FROM ${name} ORDER BY 1`)
      for (const { row } of rows)
        lines.push(
          `INSERT INTO ${name} (${list.join(', ')}) OVERRIDING SYSTEM VALUE VALUES (${row}) ON CONFLICT DO NOTHING;`,
        )
    }
    const sequences = await client.query(
      `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value FROM pg_sequences WHERE last_value IS NOT NULL ORDER BY 1`,
    )
    for (const { name, last_value: last } of sequences.rows) lines.push(`SELECT setval('${name}', ${last});`)
    return `${lines.join('\n')}\n`
  } finally {
    await client.end()
  }
}
