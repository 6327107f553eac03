import { describe, expect, it } from 'vitest'
import { type BreakerSnapshot, CircuitBreaker, type CircuitBreakerOptions } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, fail, made, opened, problemsOf, rejectionOf, succeed } from './setup.js'

const HOUR = 3_600_000

/** The snapshot after a round trip through JSON. */
const stored = (snapshot: BreakerSnapshot) => JSON.parse(JSON.stringify(snapshot)) as BreakerSnapshot

/** The breaker in another process, `later` milliseconds after and with another monotonic clock. */
function restoredLater(
  { breaker, clock }: ReturnType<typeof made>,
  options: CircuitBreakerOptions,
  later = 0,
): ReturnType<typeof made> {
  const next = fakeClock({ wall: clock.wall() + later })
  return {
    breaker: CircuitBreaker.restore(stored(breaker.snapshot()), { clock: next, ...options }),
    clock: next,
  }
}

const WINDOWS: [string, CircuitBreakerOptions][] = [
  ['rolling', { failureThreshold: 4, windowDuration: 1000 }],
  ['consecutive', { failureThreshold: 4, windowType: 'consecutive' }],
  ['rate', { failureRate: 0.5, minimumCalls: 8, windowDuration: 1000 }],
]

describe.each(WINDOWS)('a snapshot of a breaker with a %s window', (windowType, window) => {
  const options = { timeoutDuration: 1000, timeoutMultiplier: 2, successThreshold: 2, ...window }

  /** A breaker that has opened and closed before, and has three failures in its window. */
  async function lived() {
    const it = made(options)
    it.breaker.trip()
    await it.clock.advance(1000)
    succeed(it.breaker, 2)
    await it.clock.advance(100)
    fail(it.breaker, 2)
    await it.clock.advance(300)
    fail(it.breaker)
    return it
  }

  it('is plain data that JSON keeps', async () => {
    const { breaker } = await lived()
    expect(stored(breaker.snapshot())).toEqual(breaker.snapshot())
    expect(breaker.snapshot()).toMatchObject({ id: 'b', state: 'closed', failureCount: 3, windowType })
  })

  it('restores a closed breaker', async () => {
    const before = await lived()
    const after = restoredLater(before, options)
    expect(after.breaker.snapshot()).toEqual(before.breaker.snapshot())
    expect(after.breaker.state).toBe('closed')
    expect(after.breaker.failureCount).toBe(3)
  })

  it('restores an unused breaker', () => {
    const snapshot = new CircuitBreaker({ id: 'b', ...window }).snapshot()
    expect(CircuitBreaker.restore(snapshot, window).snapshot()).toEqual(snapshot)
  })

  it('restores an open breaker', async () => {
    const before = await lived()
    before.breaker.trip()
    await before.clock.advance(300)
    const after = restoredLater(before, options)
    expect(after.breaker.snapshot()).toEqual(before.breaker.snapshot())
    expect(after.breaker.state).toBe('open')
    expect(after.breaker.failureCount).toBe(3)
    expect((await rejectionOf(after.breaker)).retryAfter).toBe(1700)
  })

  it('restores a half-open breaker as open with its open time over and its successes', async () => {
    const before = await lived()
    before.breaker.trip()
    await before.clock.advance(2000)
    succeed(before.breaker)
    admitted(before.breaker)
    const { breaker, clock } = restoredLater(before, options)
    expect(breaker.state).toBe('open')
    expect(breaker.nextTestTime).toBe(clock.wall())
    expect(breaker.failureCount).toBe(3)
    succeed(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('keeps the grown open time', async () => {
    const before = await lived()
    before.breaker.trip()
    await before.clock.advance(2000)
    admitted(before.breaker)
    const { breaker } = restoredLater(before, options)
    fail(breaker)
    expect((await rejectionOf(breaker)).retryAfter).toBe(4000)
  })

  it('keeps the closed time', async () => {
    const before = await lived()
    const early = restoredLater(before, options, 599)
    early.breaker.trip()
    expect((await rejectionOf(early.breaker)).retryAfter).toBe(2000)
    const late = restoredLater(before, options, 600)
    late.breaker.trip()
    expect((await rejectionOf(late.breaker)).retryAfter).toBe(1000)
  })

  it('restores a new breaker', async () => {
    const { breaker } = restoredLater(made(options), options)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
  })

  it('restores a disabled breaker', () => {
    const before = made(options)
    before.breaker.disable()
    const { breaker } = restoredLater(before, options)
    expect(breaker.disabled).toBe(true)
    fail(breaker, 50)
    expect(breaker.state).toBe('closed')
    breaker.enable()
    expect(breaker.disabled).toBe(false)
  })
})

describe('a snapshot that is disabled and not closed', () => {
  it.each(['open', 'half_open'] as const)(
    'restores a breaker that admits every call, not one that is %s',
    (state) => {
      const before = opened()
      const snapshot: BreakerSnapshot = { ...before.breaker.snapshot(), state, disabled: true }
      const breaker = CircuitBreaker.restore(snapshot, { clock: before.clock })
      expect(breaker.disabled).toBe(true)
      expect(breaker.state).toBe('closed')
      expect(breaker.admit()).toBeDefined()
      expect(breaker.admit()).toBeDefined()
    },
  )
})

describe('the window of a restored breaker', () => {
  it('continues counting', async () => {
    const options = { failureThreshold: 3, windowDuration: 1000 }
    const before = made(options)
    fail(before.breaker, 2)
    const { breaker } = restoredLater(before, options, 1000)
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('has lost entries that expired meanwhile', async () => {
    const options = { failureThreshold: 3, windowDuration: 1000 }
    const before = made(options)
    fail(before.breaker, 2)
    const { breaker } = restoredLater(before, options, 1001)
    expect(breaker.failureCount).toBe(0)
  })

  it('expires entries from when they happened', async () => {
    const options = { failureThreshold: 9, windowDuration: 1000 }
    const before = made(options)
    fail(before.breaker, 2)
    await before.clock.advance(400)
    fail(before.breaker)
    const { breaker, clock } = restoredLater(before, options, 500)
    expect(breaker.failureCount).toBe(3)
    await clock.advance(101)
    expect(breaker.failureCount).toBe(1)
    await clock.advance(400)
    expect(breaker.failureCount).toBe(0)
  })

  it('keeps calls, failures and slow calls of a rate window apart', async () => {
    const options = { failureRate: 0.9, slowCallDuration: 100, slowCallRate: 0.5, minimumCalls: 6 } as const
    const before = made(options)
    const slow = [admitted(before.breaker), admitted(before.breaker)]
    await before.clock.advance(100)
    for (const permit of slow) permit.success()
    fail(before.breaker)
    succeed(before.breaker)
    expect(before.breaker.snapshot().failureWindow).toEqual([before.clock.wall(), 4, 1, 2])
    const { breaker, clock } = restoredLater(before, options)
    expect(breaker.failureCount).toBe(1)
    succeed(breaker)
    expect(breaker.state).toBe('closed')
    const third = admitted(breaker)
    await clock.advance(100)
    third.success()
    expect(breaker.state).toBe('open')
  })

  it('is empty where the window type changed', async () => {
    const before = made({ failureThreshold: 3 })
    fail(before.breaker, 2)
    const { breaker } = restoredLater(before, { failureThreshold: 3, windowType: 'consecutive' })
    expect(breaker.failureCount).toBe(0)
  })

  it('keeps no more than a lower threshold needs, and opens with the next failure', () => {
    const before = made({ failureThreshold: 9 })
    fail(before.breaker, 8)
    const { breaker } = restoredLater(before, { failureThreshold: 3 })
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(3)
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
  })

  it('keeps the results of an adaptive breaker', async () => {
    const options = { adaptive: true, failureThreshold: 10, windowDuration: 1 }
    const before = made(options)
    for (let i = 0; i < 60; i++) {
      fail(before.breaker)
      await before.clock.advance(2)
    }
    const { breaker } = restoredLater(before, options)
    expect(breaker.snapshot().results).toBe('0'.repeat(60))
    fail(breaker, 3)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('keeps successes and failures of an adaptive breaker, oldest first', () => {
    const { breaker } = made({ adaptive: true })
    succeed(breaker, 2)
    fail(breaker)
    expect(breaker.snapshot().results).toBe('110')
    expect(made().breaker.snapshot().results).toBeUndefined()
  })

  it('drops the results where the breaker is no longer adaptive', () => {
    const before = made({ adaptive: true })
    succeed(before.breaker)
    expect(restoredLater(before, {}).breaker.snapshot().results).toBeUndefined()
  })
})

describe('the contents of a snapshot', () => {
  it('are zeros for a new breaker', () => {
    expect(made({ id: 'new' }).breaker.snapshot()).toEqual({
      id: 'new',
      state: 'closed',
      failureCount: 0,
      windowType: 'rolling',
      failureWindow: [],
      successCount: 0,
      openedInARow: 0,
      openDuration: 0,
      epoch: 0,
      nextTestTime: undefined,
      lastFailureTime: undefined,
      lastStateChange: undefined,
      closedAt: undefined,
      results: undefined,
      disabled: false,
    })
  })

  it('are the whole state of a used breaker, in wall time', async () => {
    const { breaker, clock } = made({ failureThreshold: 2, timeoutDuration: 1000, timeoutMultiplier: 2 })
    const start = clock.wall()
    fail(breaker)
    await clock.advance(10)
    fail(breaker)
    await clock.advance(1000)
    fail(breaker)
    expect(breaker.snapshot()).toEqual({
      id: 'b',
      state: 'open',
      failureCount: 3,
      windowType: 'rolling',
      failureWindow: [],
      successCount: 0,
      openedInARow: 2,
      openDuration: 2000,
      epoch: 3,
      nextTestTime: start + 3010,
      lastFailureTime: start + 1010,
      lastStateChange: start + 1010,
      closedAt: undefined,
      results: undefined,
      disabled: false,
    })
    await clock.advance(2000)
    succeed(breaker)
    await clock.advance(5)
    fail(breaker)
    expect(breaker.snapshot()).toMatchObject({
      state: 'closed',
      failureWindow: [start + 3015, 1, 1, 0],
      nextTestTime: undefined,
      lastFailureTime: start + 3015,
      lastStateChange: start + 3010,
      closedAt: start + 3010,
    })
  })

  it('include the successes of a half-open breaker', async () => {
    const { breaker, clock } = opened({ successThreshold: 3 })
    await clock.advance(1000)
    succeed(breaker, 2)
    expect(breaker.snapshot()).toMatchObject({ state: 'half_open', successCount: 2, failureCount: 3 })
  })

  it('do not change the breaker, and are not changed by it', () => {
    const { breaker } = made()
    fail(breaker, 2)
    const first = breaker.snapshot()
    const copy = stored(first)
    fail(breaker, 2)
    expect(stored(first)).toEqual(copy)
    first.failureWindow.push(1, 1, 1, 1)
    expect(breaker.failureCount).toBe(4)
  })

  it('include the id, unless the options give another', () => {
    const before = made({ id: 'mail' })
    expect(restoredLater(before, {}).breaker.id).toBe('mail')
    expect(restoredLater(before, { id: 'post' }).breaker.id).toBe('post')
  })

  it('are sufficient without options', () => {
    const restored = CircuitBreaker.restore(opened({ id: 'mail' }).breaker.snapshot())
    expect(restored.id).toBe('mail')
    fail(new CircuitBreaker(), 1)
  })
})

describe('the open time of a restored breaker', () => {
  const options = { timeoutDuration: 1000 }

  it('ends when it would have ended', async () => {
    const before = opened(options)
    const { breaker, clock } = restoredLater(before, options, 600)
    await clock.advance(399)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })

  it('is over where it passed meanwhile', () => {
    const before = opened(options)
    const { breaker } = restoredLater(before, options, HOUR)
    expect(breaker.state).toBe('open')
    expect(breaker.nextTestTime).toBe(before.breaker.nextTestTime)
    expect(breaker.admit()).toBeDefined()
  })

  it('is not longer than configured where the wall clock was set back', async () => {
    const { breaker, clock } = restoredLater(opened(options), options, -HOUR)
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
    await clock.advance(1000)
    expect(breaker.admit()).toBeDefined()
  })

  it('is not longer than configured where the options have changed', async () => {
    const before = opened({ timeoutDuration: HOUR })
    const { breaker } = restoredLater(before, { timeoutDuration: 1000 })
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
  })

  it('is not longer than growth allows now', async () => {
    const grown = { timeoutDuration: 1000, timeoutMultiplier: 10 }
    const before = opened(grown)
    await before.clock.advance(1000)
    fail(before.breaker)
    const capped = { ...grown, maxTimeoutDuration: 5000 }
    expect((await rejectionOf(restoredLater(before, grown).breaker)).retryAfter).toBe(10_000)
    expect((await rejectionOf(restoredLater(before, capped).breaker)).retryAfter).toBe(5000)
    expect(
      (await rejectionOf(restoredLater(before, { ...grown, timeoutMultiplier: 2 }).breaker)).retryAfter,
    ).toBe(2000)
  })

  it('is kept where the snapshot has no openDuration', async () => {
    const { openDuration: _, ...snapshot } = opened(options).breaker.snapshot()
    const clock = fakeClock()
    const breaker = CircuitBreaker.restore(snapshot as BreakerSnapshot, { clock, timeoutDuration: 700 })
    expect((await rejectionOf(breaker)).retryAfter).toBe(700)
  })

  it("requires closed time as long as the snapshot's open time to reset growth, although the options allow more now", async () => {
    const before = opened({ ...options, timeoutMultiplier: 2 })
    before.breaker.reset()
    const { breaker, clock } = restoredLater(before, { timeoutDuration: HOUR, timeoutMultiplier: 2 })
    await clock.advance(1000)
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(HOUR)
  })

  it('does not end later where the options allow more now', async () => {
    const { breaker } = restoredLater(opened(options), { timeoutDuration: HOUR }, 100)
    expect((await rejectionOf(breaker)).retryAfter).toBe(900)
  })

  it('starts again when it is tripped', async () => {
    const { breaker, clock } = restoredLater(opened(options), options, 900)
    breaker.trip()
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })

  it('starts again without successes where a half-open breaker is tripped', async () => {
    const two = { ...options, successThreshold: 2 }
    const before = opened(two)
    await before.clock.advance(1000)
    succeed(before.breaker)
    const { breaker, clock } = restoredLater(before, two)
    breaker.trip()
    await clock.advance(1000)
    succeed(breaker)
    expect(breaker.state).toBe('half_open')
  })

  it('is right where the wall clock stepped before the snapshot was taken', async () => {
    const before = opened(options)
    before.clock.stepWall(-HOUR)
    await before.clock.advance(300)
    const { breaker } = restoredLater(before, options)
    expect((await rejectionOf(breaker)).retryAfter).toBe(700)
  })
})

describe('the window of a breaker restored on another wall clock', () => {
  it.each([
    ['rolling', { failureThreshold: 3, windowDuration: 1000 }],
    ['rate', { failureRate: 0.5, minimumCalls: 3, windowDuration: 1000 }],
  ] as const)('that is an hour back counts its %s failures as new, and no more', async (_, options) => {
    const before = made(options)
    fail(before.breaker)
    await before.clock.advance(500)
    fail(before.breaker)
    const { breaker, clock } = restoredLater(before, options, -HOUR)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(2)
    await clock.advance(1001)
    expect(breaker.failureCount).toBe(0)
  })

  it('that is an hour ahead has lost its failures, and does not open', () => {
    const options = { failureThreshold: 3, windowDuration: 1000 }
    const before = made(options)
    fail(before.breaker, 2)
    const { breaker } = restoredLater(before, options, HOUR)
    fail(breaker)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(1)
  })

  it('that is an hour back counts a future closing as one just now', async () => {
    const options = { timeoutDuration: 1000, timeoutMultiplier: 2 }
    const before = made(options)
    before.breaker.trip()
    before.breaker.reset()
    const { breaker, clock } = restoredLater(before, options, -HOUR)
    await clock.advance(999)
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(2000)
  })
})

describe('an invalid snapshot', () => {
  const good = () => ({ ...opened().breaker.snapshot(), results: '0110' })
  const problems = (snapshot: unknown, options: CircuitBreakerOptions = { adaptive: true }) =>
    problemsOf(() => CircuitBreaker.restore(snapshot as BreakerSnapshot, { clock: fakeClock(), ...options }))

  it('is never the snapshot of a breaker', () => {
    expect(problems(good())).toEqual([])
  })

  it.each<[keyof BreakerSnapshot, unknown]>([
    ['id', 5],
    ['state', 'ajar'],
    ['state', ['closed']],
    ['state', null],
    ['failureCount', -1],
    ['failureCount', 1.5],
    ['failureCount', '3'],
    ['windowType', 'sliding'],
    ['failureWindow', 'none'],
    ['failureWindow', {}],
    ['failureWindow', [1, 1, 1]],
    ['failureWindow', [1, 1, 1, 0, 2]],
    ['failureWindow', ['1', 1, 1, 0]],
    ['failureWindow', [null, 1, 1, 0]],
    ['failureWindow', [1, -1, 1, 0]],
    ['failureWindow', [1, 1, 0.5, 0]],
    ['failureWindow', [1, 1, 1, null]],
    ['failureWindow', [2, 1, 1, 0, 1, 1, 1, 0]],
    ['successCount', -1],
    ['successCount', null],
    ['openedInARow', -1],
    ['openedInARow', 'twice'],
    ['openDuration', -1],
    ['openDuration', null],
    ['openDuration', '1s'],
    ['epoch', -1],
    ['epoch', 0.5],
    ['nextTestTime', 'soon'],
    ['nextTestTime', null],
    ['nextTestTime', Number.NaN],
    ['nextTestTime', Number.POSITIVE_INFINITY],
    ['lastFailureTime', '2026'],
    ['lastStateChange', {}],
    ['closedAt', []],
    ['results', '012'],
    ['results', '0'.repeat(201)],
    ['results', 101],
    ['results', []],
    ['disabled', 'yes'],
  ])('is one whose %s is %j', (field, value) => {
    const found = problems({ ...good(), [field]: value }).filter((problem) => problem.startsWith('snapshot.'))
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(new RegExp(`^snapshot\\.${field}: expected .+, got .+`))
  })

  it.each([undefined, null, 5, 'open', [], {}])('is %j', (snapshot) => {
    expect(problems(snapshot).length).toBeGreaterThan(0)
  })

  it('is an open one without nextTestTime', () => {
    const { nextTestTime: _, ...rest } = good()
    expect(problems(rest).join()).toContain('nextTestTime')
  })

  it('is one without a state', () => {
    const { state: _, ...rest } = good()
    expect(problems(rest).join()).toContain('state')
  })

  it('is rejected with every problem at once', () => {
    const found = problems({ ...good(), id: 5, state: 'ajar', epoch: -1, results: 'x', disabled: 0 })
    for (const field of ['id', 'state', 'epoch', 'results', 'disabled'])
      expect(found.some((problem) => problem.startsWith(`snapshot.${field}: `))).toBe(true)
  })

  it('is reported as that of a circuit breaker', () => {
    const restore = () => CircuitBreaker.restore({ ...good(), epoch: -1 })
    expect(restore).toThrow(
      /^invalid options of a circuit breaker: snapshot\.epoch: expected a whole number from 0, got -1$/,
    )
  })

  it('is not one with 200 results, an empty window, or entries of the same time', () => {
    expect(problems({ ...good(), results: '0'.repeat(200) })).toEqual([])
    expect(problems({ ...good(), failureWindow: [] })).toEqual([])
    expect(problems({ ...good(), failureWindow: [5, 1, 1, 0, 5, 1, 1, 0] })).toEqual([])
  })
})
