import { describe, expect, it } from 'vitest'
import type { RetryEvent } from '../../src/index.js'
import { failing, folder, refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } }
const context = () => ({ a: 1, deep: { list: [1, { b: 2 }] }, at: new Date(1000) })

/** Does all that it can to an event. What is refused is refused. */
function spoil(event: RetryEvent): void {
  const given = event.context as { deep?: { list: unknown[] }; at?: Date; details?: string[] } | undefined
  for (const change of [
    () => Object.assign(event, { operation: 'SPOILT' }),
    () => Object.assign(event.error as object, { message: 'SPOILT' }),
    () => Object.assign(given as object, { password: 'SPOILT' }),
    () => given?.deep?.list.push('SPOILT'),
    () => Object.assign(given?.deep?.list[1] as object, { b: 'SPOILT' }),
    () => given?.at?.setTime(5),
    () => event.timestamp.setTime(5),
  ])
    try {
      change()
    } catch {
      // as it should
    }
}

const isWhole = (value: unknown) => {
  expect(JSON.stringify(value)).not.toMatch(/SPOILT|1970-01-01T00:00:00.005Z/)
}

describe('a change of an event by a listener', () => {
  it.each(['memory', 'sqlite', 'files'])('affects no record and no other listener (%s)', async (kind) => {
    const store = kind === 'memory' ? kind : `${kind}:${await folder()}/kept`
    const { hf, events } = await start(QUICK, { store })
    hf.events.on('*', spoil)
    const after: RetryEvent[] = []
    hf.events.on('*', (event) => void after.push(structuredClone(event)))
    await failing(hf, 'quick', refused, { context: context() })
    await hf.policies.put({ id: 'other', maxAttempts: 2 }, { by: 'ann' })
    expect(after.map(({ eventType }) => eventType)).toEqual([
      'retry_attempt',
      'retry_failure',
      'config_reloaded',
    ])
    const [session] = (await hf.sessions.list()).items
    const all = [after, session, (await hf.errors.list()).items, (await hf.events.list()).items, events]
    isWhole(all)
    expect(session?.context).toMatchObject({ deep: { list: [1, { b: 2 }] } })
    expect(after[0]?.context).toEqual(context())
  })

  it('affects no active session', async () => {
    const { hf } = await start({ policies: { slow: { maxAttempts: 2, baseDelay: 1000 } } })
    hf.events.on('*', spoil)
    const call = failing(hf, 'slow', refused, { context: context() })
    await new Promise(setImmediate)
    const [session] = (await hf.sessions.list({ active: true })).items
    spoil(session as unknown as RetryEvent)
    isWhole((await hf.sessions.list({ active: true })).items)
    await hf.sessions.cancel(session?.sessionId ?? '')
    await call
    isWhole((await hf.sessions.list()).items)
  })

  it('affects no other listener of a guard', async () => {
    const { hf } = await start(QUICK)
    const guard = hf.guard('quick')
    const seen: unknown[] = []
    guard.on((event) => void Object.assign(event, { name: 'SPOILT' }))
    guard.on((event) => void seen.push('name' in event && event.name))
    await guard.run(() => Promise.reject(refused())).catch(() => {})
    expect(new Set(seen)).toEqual(new Set(['quick']))
  })
})

describe('a change of a listed record', () => {
  it('affects no record of the memory store', async () => {
    const { hf } = await start({
      policies: { quick: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 1 } },
    })
    await failing(hf, 'quick', refused, { context: context() })
    await hf.policies.put({ id: 'other', maxAttempts: 5 }, { by: 'ann', reason: 'why' })
    const [kept] = (await hf.sessions.list()).items
    const read = async () =>
      structuredClone([
        (await hf.sessions.list()).items,
        await hf.sessions.get(kept?.sessionId ?? ''),
        (await hf.errors.list()).items,
        (await hf.events.list()).items,
        (await hf.audit.list()).items,
        (await hf.breakers.events()).items,
        await hf.config.history(),
        hf.config.layer,
      ])
    const before = await read()
    const wreck = (value: unknown): void => {
      if (value instanceof Date) value.setTime(5)
      else if (typeof value === 'object' && value !== null && !Object.isFrozen(value))
        for (const [key, held] of Object.entries(value)) {
          wreck(held)
          Object.assign(value, { [key]: 'SPOILT' })
        }
    }
    for (const list of [
      hf.sessions.list(),
      hf.sessions.get(kept?.sessionId ?? ''),
      hf.errors.list(),
      hf.events.list(),
      hf.audit.list(),
      hf.breakers.events(),
      hf.config.history(),
      Promise.resolve(hf.config.layer),
    ])
      wreck(await list)
    expect(await read()).toEqual(before)
  })
})
