import { describe, expect, it } from 'vitest'
import { refused, start, timeout } from '../holdfast/setup.js'

const CONFIG = {
  policies: {
    first: { maxAttempts: 3, baseDelay: 1000, backoffType: 'fixed' },
    second: { maxAttempts: 3, baseDelay: 1000, backoffType: 'fixed' },
  },
  subsystemMappings: { browser: { save: { timeout: 'second', default: 'first' } } },
}

describe('filters of sessions', () => {
  it('select the same for an active call and for the same call after its end', async () => {
    const { hf, clock } = await start(CONFIG)
    const begun = clock.wall()
    const errors = [refused(), timeout(), timeout()]
    const call = hf
      .run('browser.save', () => Promise.reject(errors.shift()), { correlationId: 'c-1' })
      .catch(() => undefined)
    await clock.advance(1500)
    const filters = [
      { policyId: 'first' },
      { policyId: 'second' },
      { success: false },
      { success: true },
      { operation: 'browser.save' },
      { operation: 'browser.load' },
      { subsystem: 'browser' },
      { subsystem: 'mail' },
      { correlationId: 'c-1' },
      { correlationId: 'c-2' },
      { from: new Date(begun) },
      { from: new Date(begun + 1) },
      { to: new Date(begun) },
      { to: new Date(begun + 1) },
    ]
    const counts = (active: boolean) =>
      Promise.all(filters.map(async (filter) => (await hf.sessions.list({ ...filter, active })).items.length))
    const [running] = (await hf.sessions.list({ active: true })).items
    expect(running).toMatchObject({ policyId: 'second', policyIds: ['first', 'second'] })
    const whileItRan = await counts(true)
    await clock.advance(10_000)
    await call
    expect(await counts(true)).toEqual(filters.map(() => 0))
    expect(whileItRan).toEqual(await counts(false))
    expect(whileItRan).toEqual([0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1])
  })
})
