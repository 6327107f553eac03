import type { BreakerSnapshot } from 'holdfast'
import { readableRows } from '../readable-rows.js'
import type { BreakerStore, StoredBreaker } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import type { SqliteRow } from './driver.js'
import { DELETE_BREAKER, replaceBreaker, SELECT_BREAKERS } from './statements/breakers.js'
import type { SqliteValue } from './statements/parameters.js'
import type { WriteQueue } from './write-queue.js'

const toSeconds = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1000)

/** Rounds to microseconds, because the multiplication adds rounding errors. */
const toMs = (seconds: SqliteValue | undefined): number | undefined =>
  typeof seconds === 'number' ? Math.round(seconds * 1e6) / 1e3 : undefined

const toIso = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString()

/** Converts the times of a window, the first of every four numbers. */
const convertWindowTimes = (window: readonly number[], unit: (time: number) => number) =>
  window.map((value, i) => (i % 4 === 0 ? unit(value) : value))

/** The decoded last part of `pool:POOL:MEMBER`, `policy:ID` or `service:NAME`. */
function parseProxyId(id: string): string {
  const last = id.slice(id.lastIndexOf(':') + 1)
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

/** The times of the failures in a window, in epoch seconds. Failures that the window counts together are one. */
const failureTimes = (window: readonly number[]): number[] =>
  window
    .filter((_, i) => i % 4 === 0 && (window[i + 2] as number) > 0)
    .map((time) => Math.round(time * 1e3) / 1e6)

/** The columns of a snapshot, in the order of the table. The last four have what the columns for other programs cannot represent. */
function toColumns({ snapshot, createdAt, updatedAt, settings }: StoredBreaker): Record<string, SqliteValue> {
  const { lastStateChange, windowType } = snapshot
  return {
    proxy_id: parseProxyId(snapshot.id),
    state: snapshot.state,
    failure_count: snapshot.failureCount,
    failure_window_json: JSON.stringify(failureTimes(snapshot.failureWindow)),
    next_test_time: toSeconds(snapshot.nextTestTime),
    last_state_change: lastStateChange === undefined ? createdAt.toISOString() : toIso(lastStateChange),
    failure_threshold: settings?.failureThreshold ?? null,
    window_duration: windowType === 'consecutive' ? null : toSeconds(settings?.windowDuration),
    timeout_duration: toSeconds(settings?.timeoutDuration),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
    epoch: snapshot.epoch,
    opened_in_a_row: snapshot.openedInARow,
    id: toColumn(snapshot.id),
    success_count: snapshot.successCount,
    window_type: windowType,
    last_failure_time: toSeconds(snapshot.lastFailureTime),
    closed_at: toSeconds(snapshot.closedAt),
    results: snapshot.results ?? null,
    disabled: snapshot.disabled === undefined ? null : Number(snapshot.disabled),
    window_json: JSON.stringify(convertWindowTimes(snapshot.failureWindow, (time) => time / 1000)),
    open_duration: toSeconds(snapshot.openDuration),
    unchanged: Number(lastStateChange === undefined),
    trip_duration: toSeconds(snapshot.tripDuration),
  }
}

/** Removes undefined fields, which a snapshot does not have. */
const omitUndefined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T

function fromRow(row: SqliteRow): StoredBreaker {
  // An earlier release leaves the last columns empty, and writes these two values to the columns for other programs.
  const window = JSON.parse((row.window_json ?? row.failure_window_json) as string) as number[]
  const snapshot = omitUndefined({
    id: fromColumn(row.id as string),
    state: row.state,
    failureCount: row.failure_count,
    windowType: row.window_type,
    failureWindow: convertWindowTimes(window, (time) => toMs(time) as number),
    successCount: row.success_count,
    openedInARow: row.opened_in_a_row,
    openDuration: toMs(row.open_duration ?? row.timeout_duration),
    tripDuration: toMs(row.trip_duration),
    epoch: row.epoch,
    nextTestTime: toMs(row.next_test_time),
    lastFailureTime: toMs(row.last_failure_time),
    lastStateChange:
      row.unchanged === 1 || row.last_state_change == null
        ? undefined
        : Date.parse(row.last_state_change as string),
    closedAt: toMs(row.closed_at),
    results: row.results ?? undefined,
    disabled: row.disabled === null ? undefined : row.disabled === 1,
  }) as BreakerSnapshot
  return {
    snapshot,
    createdAt: new Date(row.created_at as string),
    updatedAt: new Date(row.updated_at as string),
  }
}

/** Snapshots of breakers. */
export class SqliteBreakers implements BreakerStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    const rows = snapshots.map(toColumns)
    await this.writes.writeUnflushed(() => {
      for (const row of rows) this.writes.sql.run(replaceBreaker(Object.keys(row)), ...Object.values(row))
    })
  }

  load(): Promise<StoredBreaker[]> {
    return this.writes.read(() =>
      readableRows(this.writes.sql.all(SELECT_BREAKERS), fromRow, ({ id }) =>
        this.writes.unreadableRows.report('circuit_breaker_states', String(id)),
      ),
    )
  }

  async delete(ids: readonly string[]): Promise<void> {
    await this.writes.writeUnflushed(() => {
      for (const id of ids) this.writes.sql.run(DELETE_BREAKER, toColumn(id))
    })
  }
}
