import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, fail, held, made } from '../breaker/setup.js'

const ENDS = ['success', 'failure'] as const

it.each(ENDS)(
  'a %s of a call admitted before the trip neither closes nor re-opens the breaker',
  async (end) => {
    const { breaker, clock } = made({ failureThreshold: 1, timeoutDuration: 1000, timeoutMultiplier: 2 })
    const [early, later] = [admitted(breaker), admitted(breaker)]
    fail(breaker)
    await clock.advance(600)
    early[end]()
    expect(breaker.state).toBe('open')
    await clock.advance(400)
    admitted(breaker)
    expect(breaker.state).toBe('half_open')
    later[end]()
    expect(breaker.state).toBe('half_open')
  },
)

it.each(ENDS)(
  'a %s of a guarded call admitted before the trip neither closes nor re-opens the breaker',
  async (end) => {
    const clock = fakeClock()
    const kept = guard({ clock, retry: false, breaker: { failureThreshold: 1, timeoutDuration: 1000 } })
    const { promise, resolve, reject } = held<string>()
    const late = kept.run(() => promise).catch(() => 'failed')
    kept.breaker?.trip()
    await clock.advance(1000)
    kept.breaker?.admit()
    expect(kept.breaker?.state).toBe('half_open')
    if (end === 'success') resolve('late')
    else reject(new Error('late'))
    await late
    expect(kept.breaker?.state).toBe('half_open')
  },
)
