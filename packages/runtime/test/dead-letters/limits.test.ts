import { describe, expect, it } from 'vitest'
import { freshStore, refusal, STORES, setup } from './setup.js'

const warnings = (events: readonly { eventType: string }[]) =>
  events.filter(({ eventType }) => eventType === 'storage_warning')

describe.each(STORES)('a queue with a limit, kept in %s', (kind) => {
  it('warns at four fifths, once until it falls below, and refuses at the limit', async () => {
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

describe('a queue with a limit', () => {
  it('refuses calls with a payload before they are made, where told to, until there is room', async () => {
    const { queue, enqueue, live, clock } = await setup({ options: { maxEntries: 2, whenFull: 'refuse' } })
    await queue.open()
    expect(queue.refuses()).toBeUndefined()
    await enqueue('a')
    await enqueue('b')
    expect(queue.refuses()?.code).toBe('DEAD_LETTERS_FULL')
    live.options = { ...live.options, whenFull: 'report' }
    expect(queue.refuses()).toBeUndefined()
    live.options = { ...live.options, whenFull: 'refuse', enabled: false }
    expect(queue.refuses()).toBeUndefined()
    live.options = { ...live.options, enabled: true }
    await queue.purge({ ids: [(await queue.list()).items[0]?.dlqId as string] })
    expect(queue.refuses()).toBeUndefined()
    await clock.advance(0)
  })

  it('knows that it is full from the start, and notices when others made room', async () => {
    const first = await setup({ options: { maxEntries: 2 } })
    await first.enqueue('a')
    await first.enqueue('b')
    const { queue, clock } = await setup({
      store: first.store,
      options: { maxEntries: 2, whenFull: 'refuse' },
    })
    await queue.open()
    expect(queue.refuses()?.code).toBe('DEAD_LETTERS_FULL')
    await first.queue.purge({})
    expect(queue.refuses()?.code).toBe('DEAD_LETTERS_FULL')
    await clock.advance(1000)
    queue.refuses()
    await clock.advance(0)
    expect(queue.refuses()).toBeUndefined()
  })

  it('asks the store rarely while there is room', async () => {
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

  it('keeps entries though they cannot be counted', async () => {
    const { kit, enqueue, queue, lines } = await setup()
    const { stats } = kit.store.deadLetters
    kit.store.deadLetters.stats = () => Promise.reject(new Error('busy'))
    await enqueue('a')
    expect(lines).toEqual(['dead letters cannot be counted: busy'])
    kit.store.deadLetters.stats = stats
    expect((await queue.stats()).total).toBe(1)
  })
})
