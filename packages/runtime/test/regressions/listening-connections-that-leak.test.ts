import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import type { PostgresDatabase } from '../../../store/src/postgres/database.js'
import { ReplayNotifications } from '../../../store/src/postgres/replay-notifications.js'

// A connection on which LISTEN failed stayed open, and every 5 s there was another one, until the server had none left. One that
// was made while the last listener left stayed open too.

/** A database whose connections are counted, and on which a statement does what it is told to. */
function databaseWith(query: () => Promise<unknown>) {
  const counts = { opened: 0, closed: 0 }
  const client = () => ({
    on: () => {},
    connect: async () => void counts.opened++,
    query,
    end: async () => void counts.closed++,
  })
  const database = { address: { schema: 'holdfast' }, createClient: async () => client() }
  return { database: database as unknown as PostgresDatabase, counts }
}

describe('the connection for replay notifications', () => {
  it('is closed each time the server rejects LISTEN', async () => {
    const clock = fakeClock()
    const { database, counts } = databaseWith(() => Promise.reject(new Error('LISTEN is not supported')))
    const wakeups = new ReplayNotifications(database, clock)
    wakeups.subscribe(() => {})
    await clock.advance(60_000)
    expect(counts.opened).toBeGreaterThan(3)
    expect(counts.closed).toBe(counts.opened)
    await wakeups.close()
  })

  it('is closed if the last listener was removed while it was opened', async () => {
    const clock = fakeClock()
    let answer = () => {}
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const { database, counts } = databaseWith(() => answered)
    const wakeups = new ReplayNotifications(database, clock)
    const leave = wakeups.subscribe(() => {})
    await clock.advance(0)
    leave()
    answer()
    await clock.advance(0)
    expect(counts).toEqual({ opened: 1, closed: 1 })
    await wakeups.close()
  })
})
