import { describe, expect, it } from 'vitest'
import type { Holdfast } from '../../src/index.js'
import { start } from './setup.js'

const POLICY = { maxAttempts: 2, backoffType: 'immediate', attemptTimeout: 100, totalTimeout: 1000 }
const never = () => new Promise<never>(() => {})

const failed = (hf: Holdfast, options: object) =>
  hf.run('web', never, options).catch((error: unknown) => error)

describe('the timeout of one hf.run', () => {
  it.each([
    ['a shorter attempt', { attempt: 30 }, 60, 'ATTEMPT_TIMEOUT'],
    ['a shorter total', { total: 150 }, 150, 'TOTAL_TIMEOUT'],
    ['no timeout per attempt', { attempt: Infinity }, 1000, 'TOTAL_TIMEOUT'],
  ])('replaces only the given timeout of the policy: %s', async (_, timeout, expectedMs, code) => {
    const { hf, clock } = await start({ policies: { web: POLICY } })
    const call = failed(hf, { timeout })
    let isSettled = false
    void call.finally(() => {
      isSettled = true
    })
    await clock.advance(expectedMs - 1)
    expect(isSettled).toBe(false)
    await clock.advance(1)
    expect(await call).toMatchObject({ code })
  })

  it('removes the timeouts of the policy where it is false', async () => {
    const { hf, clock } = await start({ policies: { web: POLICY } })
    const call = hf.run('web', () => new Promise((resolve) => clock.setTimer(() => resolve('late'), 5000)), {
      timeout: false,
    })
    await clock.advance(5000)
    expect(await call).toBe('late')
  })

  it('rejects an invalid timeout and calls nothing', async () => {
    const { hf } = await start({ policies: { web: POLICY } })
    expect(await failed(hf, { timeout: { attempt: 0 } })).toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    expect(await failed(hf, { timeout: 5 as never })).toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})
