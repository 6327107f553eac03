import { decodeBreaker, encodeBreaker } from '../breaker-codec.js'
import { serializeValue } from '../payload.js'
import type {
  BreakerStore,
  LayerStore,
  LayerVersion,
  MetricsRow,
  MetricsStore,
  StoredBreaker,
  ValueStore,
} from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { hashName } from './names.js'

/** How many rows one statement writes or reads. */
const BATCH_SIZE = 500

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Snapshots of breakers. */
export class PostgresBreakers implements BreakerStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('circuit_breaker_states')
  }

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    // The last of one id counts. Sorted, so that two who save do not wait for each other in a circle.
    const rows = [...new Map(snapshots.map((each) => [hashName(each.snapshot.id), each]))].sort(([a], [b]) =>
      compareText(a, b),
    )
    if (rows.length === 0) return
    await this.database.write((sql) =>
      sql.run(
        `INSERT INTO ${this.table} (key, id, state, updated_at, body)
          SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[])
          ON CONFLICT (key) DO UPDATE SET (state, updated_at, body) = (excluded.state, excluded.updated_at, excluded.body)`,
        rows.map(([key]) => key),
        rows.map(([, { snapshot }]) => toColumn(snapshot.id)),
        rows.map(([, { snapshot }]) => snapshot.state),
        rows.map(([, { updatedAt }]) => updatedAt.getTime()),
        rows.map(([, each]) => JSON.stringify(encodeBreaker(each))),
      ),
    )
  }

  async load(): Promise<StoredBreaker[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ body: string }>(`SELECT body FROM ${this.table} ORDER BY key`),
    )
    return rows.flatMap(({ body }) => decodeBreaker(JSON.parse(body)) ?? [])
  }

  async delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.database.write((sql) =>
      sql.run(`DELETE FROM ${this.table} WHERE key = ANY($1::uuid[])`, ids.map(hashName)),
    )
  }
}

/** Counters of stretches of time. */
export class PostgresMetrics implements MetricsStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('metrics')
  }

  async save(rows: readonly MetricsRow[]): Promise<void> {
    const keyed = new Map(
      rows.map((row) => [hashName(JSON.stringify([row.series, row.start, row.node])), row]),
    )
    const sorted = [...keyed].sort(([a], [b]) => compareText(a, b))
    for (let at = 0; at < sorted.length; at += BATCH_SIZE) {
      const some = sorted.slice(at, at + BATCH_SIZE)
      await this.database.write(
        (sql) =>
          sql.run(
            `INSERT INTO ${this.table} (start, key, series, node, data)
              SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[])
              ON CONFLICT (start, key) DO UPDATE SET data = excluded.data`,
            some.map(([, { start }]) => start),
            some.map(([key]) => key),
            some.map(([, { series }]) => toColumn(series)),
            some.map(([, { node }]) => toColumn(node)),
            some.map(([, { data }]) => JSON.stringify(data ?? null)),
          ),
        { durable: false },
      )
    }
  }

  async load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ series: string; start: string; node: string; data: string }>(
        `SELECT series, start, node, data FROM ${this.table}
          WHERE start >= $1 AND start < $2 AND starts_with(series, $3) ORDER BY start`,
        range.from,
        range.to,
        toColumn(range.prefix ?? ''),
      ),
    )
    return rows
      .map(({ series, start, node, data }) => ({
        series: fromColumn(series),
        start: Number(start),
        node: fromColumn(node),
        data: JSON.parse(data) as unknown,
      }))
      .sort((a, b) => a.start - b.start || compareText(a.series, b.series) || compareText(a.node, b.node))
  }

  expire(before: number): Promise<number> {
    return this.database.write((sql) => sql.run(`DELETE FROM ${this.table} WHERE start < $1`, before))
  }
}

interface PostgresLayerRow {
  version: number
  changed_by: string
  reason: string | null
  at: string
  layer: string
}

const fromRow = (row: PostgresLayerRow): LayerVersion => ({
  version: row.version,
  by: fromColumn(row.changed_by),
  ...(row.reason === null ? {} : { reason: fromColumn(row.reason) }),
  at: new Date(Number(row.at)),
  layer: JSON.parse(row.layer) as unknown,
})

/** Versions of the layer of changes. */
export class PostgresLayers implements LayerStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('config_layers')
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.read('LIMIT 1').then(([row]) => row)
  }

  history(): Promise<LayerVersion[]> {
    return this.read('')
  }

  private async read(limit: string): Promise<LayerVersion[]> {
    const rows = await this.database.read((sql) =>
      sql.all<PostgresLayerRow>(`SELECT * FROM ${this.table} ORDER BY version DESC ${limit}`),
    )
    return rows.map(fromRow)
  }

  append({ by, reason, at, layer }: LayerVersion, after: number): Promise<boolean> {
    const input = [
      after + 1,
      toColumn(by),
      reason === undefined ? null : toColumn(reason),
      at.getTime(),
    ] as const
    const text = JSON.stringify(layer ?? null)
    return this.database.write(
      async (sql) =>
        (await sql.run(
          `INSERT INTO ${this.table} (version, changed_by, reason, at, layer) SELECT $1, $2, $3, $4, $5
            WHERE coalesce((SELECT max(version) FROM ${this.table}), 0) = $1 - 1 ON CONFLICT DO NOTHING`,
          ...input,
          text,
        )) === 1,
      {
        isCommitted: async (sql, added) =>
          added &&
          (
            await sql.all(
              `SELECT 1 FROM ${this.table} WHERE version = $1 AND changed_by = $2 AND at = $3 AND layer = $4`,
              input[0],
              input[1],
              input[3],
              text,
            )
          ).length > 0,
      },
    )
  }

  expire(maxEntries: number): Promise<number> {
    return this.database.write((sql) =>
      sql.run(
        `DELETE FROM ${this.table} WHERE version <= (SELECT max(version) FROM ${this.table}) - $1`,
        maxEntries,
      ),
    )
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    await this.database.write((sql) =>
      sql.run(
        `UPDATE ${this.table} SET layer = $2 WHERE version = $1`,
        version,
        JSON.stringify(layer ?? null),
      ),
    )
  }
}

/** Small named values. */
export class PostgresValues implements ValueStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('named_values')
  }

  async get(key: string): Promise<unknown> {
    const [row] = await this.database.read((sql) =>
      sql.all<{ value: string }>(`SELECT value FROM ${this.table} WHERE id = $1`, hashName(key)),
    )
    return row && JSON.parse(row.value)
  }

  async set(key: string, value: unknown): Promise<void> {
    const text = serializeValue(key, value)
    await this.database.write((sql) =>
      sql.run(
        `INSERT INTO ${this.table} (id, key, value) VALUES ($1, $2, $3)
          ON CONFLICT (id) DO UPDATE SET value = excluded.value`,
        hashName(key),
        toColumn(key),
        text,
      ),
    )
  }

  async delete(key: string): Promise<void> {
    await this.database.write((sql) => sql.run(`DELETE FROM ${this.table} WHERE id = $1`, hashName(key)))
  }

  async list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ key: string; value: string }>(
        `SELECT key, value FROM ${this.table} WHERE starts_with(key, $1)`,
        toColumn(prefix),
      ),
    )
    return rows
      .map(({ key, value }) => ({ key: fromColumn(key), value: JSON.parse(value) as unknown }))
      .sort((a, b) => compareText(a.key, b.key))
  }
}
