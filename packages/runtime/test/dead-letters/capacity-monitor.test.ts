import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../../store/src/store.js'
import { freshStore, refusal, STORES, setup } from './setup.js'

const warnings = (events: readonly { eventType: string }[]) =>
  events.filter(({ eventType }) => eventType === 'storage_warning')

describe.each(STORES)('a dead letter queue with a limit in %s', (kind) => {
  it('warns once at 80 %, and rejects entries at the limit', async () => {
    const { queue, enqueue, events } = await setup({
      store: await freshStore(kind),
      options: { maxEntries: 10 },
    })
    for (let i = 0; i < 7; i++) await enqueue(`${i}`)
    expect(warnings(events)).toEqual([])
    const eighth = await enqueue('8')
    expect(warnings(events)).toMatchObject([
      { component: 'dead_letters', context: { entries: 8, max_entries: 10 } },
    ])
    await enqueue('9')
    await enqueue('10')
    expect(warnings(events)).toHaveLength(1)
    const { code, message } = await refusal(enqueue('11'))
    expect(code).toBe('DEAD_LETTERS_FULL')
    expect(message).toContain('dead_letters.max_entries')
    // Completed ones do not count.
    queue.handle('write', () => {})
    await queue.replay(eighth.dlqId)
    await enqueue('11')
    expect(warnings(events)).toHaveLength(1)
    await queue.replayBatch({ limit: 4 })
    await enqueue('12')
    await enqueue('13')
    expect(warnings(events)).toHaveLength(2)
  })
})

describe('a dead letter queue with a limit', () => {
  it('rejects calls with a payload before they run while it is full, if configured so', async () => {
    const { queue, enqueue, live, clock } = await setup({ options: { maxEntries: 2, whenFull: 'refuse' } })
    await queue.open()
    expect(queue.rejectionIfFull()).toBeUndefined()
    await enqueue('a')
    await enqueue('b')
    expect(queue.rejectionIfFull()?.code).toBe('DEAD_LETTERS_FULL')
    live.options = { ...live.options, whenFull: 'report' }
    expect(queue.rejectionIfFull()).toBeUndefined()
    live.options = { ...live.options, whenFull: 'refuse', enabled: false }
    expect(queue.rejectionIfFull()).toBeUndefined()
    live.options = { ...live.options, enabled: true }
    await queue.purge({ ids: [(await queue.list()).items[0]?.dlqId as string] })
    expect(queue.rejectionIfFull()).toBeUndefined()
    await clock.advance(0)
  })

  it('detects at the start that it is full, and that another process deleted entries', async () => {
    const first = await setup({ options: { maxEntries: 2 } })
    await first.enqueue('a')
    await first.enqueue('b')
    const { queue, clock } = await setup({
      store: first.store,
      options: { maxEntries: 2, whenFull: 'refuse' },
    })
    await queue.open()
    expect(queue.rejectionIfFull()?.code).toBe('DEAD_LETTERS_FULL')
    await first.queue.purge({})
    expect(queue.rejectionIfFull()?.code).toBe('DEAD_LETTERS_FULL')
    await clock.advance(1000)
    queue.rejectionIfFull()
    await clock.advance(0)
    expect(queue.rejectionIfFull()).toBeUndefined()
  })

  it('rarely queries the store while it is not full', async () => {
    const { kit, enqueue } = await setup({ options: { maxEntries: 100_000 } })
    let counts = 0
    const { deadLetters } = kit.store
    const stats = deadLetters.stats.bind(deadLetters)
    deadLetters.stats = (now) => {
      counts++
      return stats(now)
    }
    for (let i = 0; i < 2000; i++) await enqueue(`${i}`)
    expect(counts).toBeLessThan(6)
  })

  it('detects that another process filled it, without a failure in this process', async () => {
    const first = await setup({ store: sharedWith((await setup()).store), options: { maxEntries: 2 } })
    const clock = watchedClock()
    const { queue } = await setup({
      store: first.store,
      clock,
      options: { maxEntries: 2, whenFull: 'refuse' },
    })
    await queue.open()
    await first.enqueue('a')
    await first.enqueue('b')
    await clock.advance(1000)
    expect(queue.rejectionIfFull()?.code).toBe('DEAD_LETTERS_FULL')
    await first.queue.purge({})
    await clock.advance(1000)
    expect(queue.rejectionIfFull()).toBeUndefined()
    await queue.close()
    expect(clock.timers.size).toBe(0)
  })

  it('checks for entries of other processes only if it rejects calls, also after a reload', async () => {
    const clock = watchedClock()
    const { queue, live, store } = await setup({ store: sharedWith((await setup()).store), clock })
    await queue.open()
    let counts = 0
    const { stats } = store.deadLetters
    store.deadLetters.stats = (now) => (counts++, stats.call(store.deadLetters, now))
    await clock.advance(5000)
    expect(queue.rejectionIfFull()).toBeUndefined()
    expect(counts).toBe(0)
    live.options = { ...live.options, whenFull: 'refuse' }
    queue.rejectionIfFull()
    await clock.advance(5000)
    expect(counts).toBeGreaterThan(3)
    live.options = { ...live.options, whenFull: 'report' }
    await clock.advance(1000)
    expect(clock.timers.size).toBe(0)
  })

  it('stores entries while they cannot be counted, and warns once', async () => {
    const { kit, clock, enqueue, queue, lines } = await setup()
    const { stats } = kit.store.deadLetters
    const fail = () => Promise.reject(new Error('busy'))
    kit.store.deadLetters.stats = fail
    const outage = async (items: readonly string[]) => {
      for (const item of items) {
        await enqueue(item)
        await clock.advance(1000)
      }
    }
    await outage(['a', 'b', 'c'])
    expect(lines).toEqual(['dead letters cannot be counted: busy'])
    kit.store.deadLetters.stats = stats
    await enqueue('d')
    expect((await queue.stats()).total).toBe(4)
    kit.store.deadLetters.stats = fail
    await queue.purge({})
    expect(lines).toHaveLength(2)
  })

  it('does not delay calls while the store does not return the number of entries', async () => {
    const clock = watchedClock()
    const { kit, enqueue } = await setup({ clock })
    let asked = 0
    kit.store.deadLetters.stats = () => (asked++, new Promise(() => {}))
    const first = enqueue('a')
    while (clock.timers.size === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(1000)
    await first
    await enqueue('b')
    await enqueue('c')
    expect(asked).toBe(1)
    expect(clock.timers.size).toBe(0)
  })
})

/** The store as one that other processes reach, too. */
const sharedWith = (store: Store): Store => ({ ...store, private: false })

/** A clock that tells which timers are set. */
function watchedClock() {
  const clock = fakeClock()
  const timers = new Set<unknown>()
  return {
    ...clock,
    timers,
    setTimer(fn: () => void, ms: number) {
      const handle = clock.setTimer(() => {
        timers.delete(handle)
        fn()
      }, ms)
      timers.add(handle)
      return handle
    },
    clearTimer(handle: unknown) {
      timers.delete(handle)
      clock.clearTimer(handle)
    },
  }
}
