// `Retry/enabled: false` in the overrides was a default that the `retry` or `policy` of a call replaced. It is the operator's
// switch, as in MicroProfile Fault Tolerance: values in the code do not turn retries on again.
import { describe, expect, it } from 'vitest'
import type { Holdfast } from '../../src/index.js'
import { refused, start } from '../holdfast/setup.js'

const QUICK = { maxAttempts: 4, backoffType: 'immediate' } as const

async function countAttempts(hf: Holdfast, operation: string, options?: object): Promise<number> {
  let count = 0
  const fail = () => {
    count++
    throw refused()
  }
  await hf.run(operation, fail, options).catch(() => {})
  return count
}

describe('an override that disables retries', () => {
  it.each([
    ['the `retry` of a call', { retry: { maxAttempts: 3 } }],
    ['a `retryIf` of a call', { retry: { maxAttempts: 3, retryIf: () => true } }],
    ['the fields of a policy that a call brings', { policy: { maxAttempts: 3 } }],
    ['a policy of its own that a call brings', { policy: { id: 'own', ...QUICK } }],
    ['a policy that a call names', { policy: 'fetch' }],
    ['both', { policy: 'fetch', retry: { maxAttempts: 3 } }],
  ])('wins over %s', async (_, options) => {
    const { hf } = await start({
      policies: { fetch: QUICK, default: QUICK },
      overrides: { 'mail/send/Retry/enabled': false },
    })
    expect(await countAttempts(hf, 'mail.send', options)).toBe(1)
    expect(await countAttempts(hf, 'mail.read', options)).toBeGreaterThan(1)
  })

  it('wins over the `retry` of a call of a guard', async () => {
    const { hf } = await start({ policies: { default: QUICK }, overrides: { 'Retry/enabled': false } })
    let count = 0
    const fail = () => {
      count++
      throw refused()
    }
    await hf
      .guard('mail.send')
      .run(fail, { retry: { maxAttempts: 3 } })
      .catch(() => {})
    expect(count).toBe(1)
  })

  it('does not hide an invalid `retry` option', async () => {
    const { hf } = await start({ policies: { default: QUICK }, overrides: { 'Retry/enabled': false } })
    await expect(hf.run('mail.send', () => 1, { retry: { maxAttempts: -3 } })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('loses against a more specific one that enables them, and other overrides lose against the call', async () => {
    const { hf } = await start({
      policies: { default: QUICK },
      overrides: { 'Retry/enabled': false, 'mail/send/Retry/enabled': true, 'mail/send/Retry/maxRetries': 1 },
    })
    expect(await countAttempts(hf, 'mail.send')).toBe(2)
    expect(await countAttempts(hf, 'mail.send', { retry: { maxAttempts: 3 } })).toBe(3)
  })
})
