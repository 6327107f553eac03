import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import { readableRows } from '../readable-rows.js'
import type { ValueStore } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import { DELETE_VALUE, SELECT_VALUE, SELECT_VALUES_BY_PREFIX, UPSERT_VALUE } from './statements/values.js'
import type { WriteQueue } from './write-queue.js'

/** Small named values. */
export class SqliteValues implements ValueStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  get(key: string): Promise<unknown> {
    return this.writes.read(() => {
      const row = this.writes.sql.get<{ value: string }>(SELECT_VALUE, toColumn(key))
      return row && JSON.parse(row.value)
    })
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
        this.writes.sql.all<{ key: string; value: string }>(
          SELECT_VALUES_BY_PREFIX,
          toColumn(prefix),
          toColumn(prefix),
        ),
        ({ key, value }) => ({ key: fromColumn(key), value: JSON.parse(value) as unknown }),
      ).sort((a, b) => compareText(a.key, b.key)),
    )
  }
}
