import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder, start } from './setup.js'

const config = { circuitBreakers: { db: { timeoutDuration: 1000, persistState: true } } }

describe('hf.breakers.trip', () => {
  it('opens a breaker for a duration, which its record and the audit trail show', async () => {
    const { hf, clock } = await start(config)
    const until = new Date(clock.wall() + 600_000)
    const tripped = await hf.breakers.trip('service:db', {
      by: 'kim',
      reason: 'maintenance',
      duration: '10m',
    })
    expect(tripped).toMatchObject({
      state: 'open',
      nextTestTime: until,
      tripDuration: 600_000,
      failureCount: 0,
    })
    const { items } = await hf.audit.list({ target: 'service:db' })
    expect(items).toMatchObject([
      {
        actor: 'kim',
        action: 'breaker.trip',
        reason: 'maintenance',
        after: { state: 'open', next_test_time: until.toISOString() },
      },
    ])
    await clock.advance(600_000)
    await hf.run('query', async () => 1, { service: 'db' })
    expect(await hf.breakers.get('service:db')).not.toHaveProperty('tripDuration')
  })

  it.each(['files:data', 'sqlite:data.db'])('keeps the duration over a restart with %s', async (store) => {
    const dir = await folder()
    const [scheme, name = ''] = store.split(':')
    const url = `${scheme}:${join(dir, name)}`
    const first = await start(config, { store: url })
    const { nextTestTime } = await first.hf.breakers.trip('service:db', {
      duration: Number.POSITIVE_INFINITY,
    })
    await first.hf.close()
    const { hf } = await start(config, { store: url, clock: first.clock })
    expect(await hf.breakers.get('service:db')).toMatchObject({ state: 'open', nextTestTime })
  })

  it('rejects a duration that is not valid and leaves the breaker closed', async () => {
    const { hf } = await start(config)
    await expect(hf.breakers.trip('service:db', { duration: -1 })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    expect(await hf.breakers.get('service:db')).toMatchObject({ state: 'closed' })
  })
})
