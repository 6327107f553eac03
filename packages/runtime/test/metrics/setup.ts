import type { Clock } from 'holdfast'
import type { MetricsRow, MetricsStore } from '../../../store/src/store.js'

/** A clock that is set by hand: no timers are needed here. */
export interface HandClock extends Clock {
  time: number
  offset: number
}

export function handClock(wall = Date.UTC(2026, 0, 1, 10)): HandClock {
  const clock: HandClock = {
    time: 0,
    offset: wall,
    now: () => clock.time,
    wall: () => clock.offset + clock.time,
    setTimer: () => undefined,
    clearTimer: () => undefined,
  }
  return clock
}

/** Rows as JSON, as stores keep them. */
export function rowStore(): MetricsStore & { rows: Map<string, MetricsRow>; broken: boolean } {
  const store = {
    rows: new Map<string, MetricsRow>(),
    broken: false,
    async save(rows: readonly MetricsRow[]) {
      if (store.broken) throw new Error('disk full')
      for (const row of rows)
        store.rows.set(
          `${row.series} ${row.start} ${row.node}`,
          JSON.parse(JSON.stringify(row)) as MetricsRow,
        )
    },
    async load({ from, to }: { from: number; to: number }) {
      return [...store.rows.values()].filter(({ start }) => start >= from && start < to)
    },
    async expire(before: number) {
      let gone = 0
      for (const [key, { start }] of store.rows) if (start < before && store.rows.delete(key)) gone++
      return gone
    },
  }
  return store
}

export const MINUTE = 60_000
export const HOUR = 3_600_000
