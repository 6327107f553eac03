import type { DeadLetter } from '../../../records/src/dead-letter.js'
import type { DeadLetterStore, Settlement } from '../../src/dead-letter-store.js'

interface Row {
  id: string
  operation: string
  itemId: string
  created: number
  order: number
  payload: unknown
  key: string
  status: DeadLetter['status']
  owner: string | undefined
  until: number
  requested: boolean
  failures: number
  replayed: number | undefined
}

/**
 * A plain model of the queue: a list that is searched from the front, with times in seconds. It returns the words
 * that a test compares, not whole entries.
 */
export class Model {
  rows: Row[] = []
  /** The day on which each id was first completed. */
  processed = new Map<string, number>()
  private added = 0

  private held = (row: Row, now: number) => row.status === 'replaying' && row.until > now
  private seen = (row: Row, now: number) =>
    row.status === 'replaying' && !this.held(row, now) ? 'pending' : row.status
  private sorted = () => this.rows.toSorted((a, b) => a.created - b.created || a.order - b.order)
  /** Times start at noon. */
  private dayOf = (time: number) => Math.floor((time + 43_200) / 86_400)
  private find = (id: string) => this.rows.find((row) => row.id === id)

  add(entry: Pick<Row, 'id' | 'operation' | 'itemId' | 'created' | 'key' | 'payload'>, max: number) {
    const same = this.rows.find((row) => row.key === entry.key)
    if (same !== undefined) return same.payload === entry.payload ? 'known' : 'conflict'
    if (this.rows.filter((row) => row.status !== 'completed').length >= max) return 'full'
    const state = { status: 'pending', owner: undefined, until: 0, requested: false, failures: 0 } as const
    this.rows.push({ ...entry, ...state, order: this.added++, replayed: undefined })
    return 'added'
  }

  lease(id: string, owner: string, until: number, now: number) {
    const row = this.find(id)
    if (row === undefined) return 'missing'
    if (row.status === 'completed') return 'done'
    if (this.held(row, now)) return 'held'
    Object.assign(row, { status: 'replaying', owner, until })
    return 'leased'
  }

  leaseNext(
    want: Parameters<DeadLetterStore['leaseNext']>[0],
    owner: string,
    until: number,
    now: number,
  ): string[] {
    const fit = this.sorted().filter((row) => {
      const status = this.seen(row, now)
      return (
        (status === 'pending' || status === 'failed') &&
        want.statuses.includes(status) &&
        (want.operations?.includes(row.operation) ?? true) &&
        (want.ids?.includes(row.id) ?? true) &&
        (!want.requested || row.requested)
      )
    })
    return fit.slice(0, want.limit).map((row) => {
      Object.assign(row, { status: 'replaying', owner, until })
      return row.id
    })
  }

  renew(id: string, owner: string, until: number, now: number) {
    const row = this.find(id)
    if (row === undefined || !this.held(row, now) || row.owner !== owner) return false
    row.until = until
    return true
  }

  settle(id: string, owner: string, status: Settlement['status'], now: number) {
    const row = this.find(id)
    if (row === undefined || row.status === 'completed') return false
    if (status === 'completed') return this.done(row, now)
    if (!this.held(row, now) || row.owner !== owner) return false
    row.status = status
    if (status === 'failed') {
      row.requested = false
      row.failures++
    }
    return true
  }

  complete(id: string, now: number) {
    const row = this.find(id)
    if (row === undefined) return false
    return row.status === 'completed' || this.done(row, now)
  }

  private done(row: Row, now: number) {
    Object.assign(row, { status: 'completed', requested: false, replayed: now })
    if (!this.processed.has(row.id)) this.processed.set(row.id, this.dayOf(now))
    return true
  }

  deleteProcessedIds(before: number) {
    const deleted = [...this.processed].filter(
      ([id, day]) => day < this.dayOf(before) && this.find(id) === undefined,
    )
    for (const [id] of deleted) this.processed.delete(id)
    return deleted.length
  }

  request(id: string) {
    const row = this.find(id)
    if (row !== undefined && row.status !== 'completed') row.requested = true
    return row !== undefined
  }

  select(itemId: string, statuses: readonly DeadLetter['status'][] | undefined, now: number) {
    return this.sorted()
      .filter((row) => row.itemId === itemId && (statuses?.includes(this.seen(row, now)) ?? true))
      .map(({ id }) => id)
  }

  purge(status: DeadLetter['status'] | undefined, now: number) {
    const before = this.rows.length
    this.rows = this.rows.filter(
      (row) => this.held(row, now) || (status !== undefined && this.seen(row, now) !== status),
    )
    return before - this.rows.length
  }

  view(now: number) {
    return this.sorted().map((row) => ({
      id: row.id,
      status: this.seen(row, now),
      requested: row.requested,
      failures: row.failures,
    }))
  }
}
