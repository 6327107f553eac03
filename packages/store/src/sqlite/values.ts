import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import { parseOrUndefined, readableRows } from '../readable-rows.js'
import type { ValueStore } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import { DELETE_VALUE, SELECT_VALUE, SELECT_VALUES_BY_PREFIX, UPSERT_VALUE } from './statements/values.js'
import type { WriteQueue } from './write-queue.js'

interface ValueRow {
  key: string
  value: string
}

const fromRow = ({ key, value }: ValueRow) => ({ key: fromColumn(key), value: JSON.parse(value) as unknown })

/** Small named values. */
export class SqliteValues implements ValueStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  get(key: string): Promise<unknown> {
    return this.writes.read(() => {
      const row = this.writes.sql.get<ValueRow>(SELECT_VALUE, toColumn(key))
      if (row === undefined) return undefined
      const parsed = parseOrUndefined(row, fromRow)
      if (parsed === undefined) this.skipRow(row)
      return parsed?.value
    })
  }

  private skipRow({ key }: ValueRow): void {
    this.writes.unreadableRows.report('named_values', key)
  }

  async set(key: string, value: unknown): Promise<void> {
    const text = serializeValue(key, value)
    await this.writes.write(() => this.writes.sql.run(UPSERT_VALUE, toColumn(key), text))
  }

  async delete(key: string): Promise<void> {
    await this.writes.write(() => this.writes.sql.run(DELETE_VALUE, toColumn(key)))
  }

  list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    return this.writes.read(() =>
      readableRows(
        this.writes.sql.all<ValueRow>(SELECT_VALUES_BY_PREFIX, toColumn(prefix), toColumn(prefix)),
        fromRow,
        (row) => this.skipRow(row),
      ).sort((a, b) => compareText(a.key, b.key)),
    )
  }
}
