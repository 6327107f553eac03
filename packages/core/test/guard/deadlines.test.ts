import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fakeClock } from '../../src/testing/index.js'
import { type DeadlineEntry, DeadlineQueue } from '../../src/timeout/deadline-queue.js'

class Entry implements DeadlineEntry {
  startedAt = 0
  prev: DeadlineEntry | undefined = undefined
  next: DeadlineEntry | undefined = undefined
  queue: DeadlineQueue | undefined = undefined
  scope: DeadlineEntry['scope'] = undefined
  readonly onDeadline: () => void

  constructor(onDeadline: () => void) {
    this.onDeadline = onDeadline
  }
}

const noEntry = () => new Entry(() => {})

/** A queue with its clock and a count of its pending timers. */
function setUp(duration: number) {
  const clock = fakeClock()
  let pending = 0
  const counted = {
    ...clock,
    setTimer: (fn: () => void, ms: number) => {
      pending++
      return clock.setTimer(() => {
        pending--
        fn()
      }, ms)
    },
    clearTimer: (handle: unknown) => {
      pending--
      clock.clearTimer(handle)
    },
  }
  return { clock, list: new DeadlineQueue(counted, duration), pending: () => pending }
}

describe('a deadline queue', () => {
  it('has no timer while it is empty', () => {
    expect(setUp(100).pending()).toBe(0)
  })

  it('expires an entry at its deadline and not before', async () => {
    const { clock, list } = setUp(100)
    const expired: number[] = []
    list.add(new Entry(() => expired.push(clock.now())), clock.now())
    await clock.advance(99)
    expect(expired).toEqual([])
    await clock.advance(1)
    expect(expired).toEqual([100])
  })

  it('expires an entry in time where the timeout is shorter than the first check', async () => {
    const { clock, list } = setUp(2)
    const expired: number[] = []
    list.add(new Entry(() => expired.push(clock.now())), clock.now())
    await clock.advance(10)
    expect(expired).toEqual([2])
  })

  it('does not expire an entry that was removed', async () => {
    const { clock, list, pending } = setUp(100)
    const entry = new Entry(() => {
      throw new Error('it was removed')
    })
    list.add(entry, 0)
    list.remove(entry)
    await clock.advance(1000)
    expect(pending()).toBe(0)
  })

  it('ignores the removal of an entry that it does not have', () => {
    const { list } = setUp(100)
    const [entry, other] = [noEntry(), noEntry()]
    list.add(entry, 0)
    list.remove(entry)
    list.remove(entry)
    list.remove(other)
    expect(entry.queue).toBeUndefined()
  })

  it('does not remove an entry of another queue', async () => {
    const { clock, list } = setUp(100)
    const other = new DeadlineQueue(clock, 50)
    const expired: number[] = []
    const entry = new Entry(() => expired.push(clock.now()))
    other.add(entry, 0)
    list.remove(entry)
    await clock.advance(100)
    expect(expired).toEqual([50])
  })

  it('accepts an entry again after it was removed or expired', async () => {
    const { clock, list } = setUp(100)
    const expired: number[] = []
    const entry = new Entry(() => expired.push(clock.now()))
    list.add(entry, clock.now())
    list.remove(entry)
    list.add(entry, clock.now())
    await clock.advance(100)
    list.add(entry, clock.now())
    await clock.advance(100)
    expect(expired).toEqual([100, 200])
  })

  it('lets an entry add another when it expires', async () => {
    const { clock, list, pending } = setUp(100)
    const expired: number[] = []
    const again = new Entry(() => {
      expired.push(clock.now())
      if (expired.length < 3) list.add(again, clock.now())
    })
    list.add(again, clock.now())
    await clock.advance(1000)
    expect(expired).toEqual([100, 200, 300])
    expect(pending()).toBe(0)
  })

  it('lets an entry remove another that expires at the same time', async () => {
    const { clock, list } = setUp(100)
    const second = new Entry(() => {
      throw new Error('it was removed')
    })
    list.add(new Entry(() => list.remove(second)), 0)
    list.add(second, 0)
    await clock.advance(100)
    expect(second.queue).toBeUndefined()
  })

  it('has one timer for any number of entries', () => {
    const { list, pending } = setUp(100)
    for (let i = 0; i < 100; i++) list.add(noEntry(), 0)
    expect(pending()).toBe(1)
  })
})

describe('a deadline queue and a plain array', () => {
  type Move = { add: true } | { remove: number } | { wait: number }
  const move: fc.Arbitrary<Move> = fc.oneof(
    fc.record({ add: fc.constant(true as const) }),
    fc.record({ remove: fc.nat({ max: 30 }) }),
    fc.record({ wait: fc.constantFrom(0, 1, 2, 5, 7, 20, 60) }),
  )

  it('expire the same entries at the same times, and leave no timer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 4, 5, 6, 50),
        fc.array(move, { maxLength: 40 }),
        async (duration, moves) => {
          const { clock, list, pending } = setUp(duration)
          const ended: [id: number, at: number][] = []
          const entries: Entry[] = []
          const expected: [id: number, at: number][] = []
          let waiting: [id: number, due: number][] = []
          const wait = async (ms: number) => {
            await clock.advance(ms)
            const over = waiting.filter(([, due]) => due <= clock.now())
            expected.push(...over)
            waiting = waiting.filter((entry) => !over.includes(entry))
          }
          for (const step of moves) {
            if ('add' in step) {
              const id = entries.length
              const entry = new Entry(() => ended.push([id, clock.now()]))
              entries.push(entry)
              waiting.push([id, clock.now() + duration])
              list.add(entry, clock.now())
            } else if ('remove' in step) {
              const entry = entries[step.remove]
              if (entry !== undefined) list.remove(entry)
              waiting = waiting.filter(([id]) => id !== step.remove)
            } else await wait(step.wait)
          }
          await wait(duration + 5)
          expect(ended).toEqual(expected)
          expect(pending()).toBe(0)
        },
      ),
      { numRuns: 500 },
    )
  })
})
