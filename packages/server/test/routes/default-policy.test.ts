import type { RetryPolicy } from '@holdfast/runtime'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toView } from '../../src/routes/default-policy.js'
import { open } from '../fixture.js'

const PATH = '/api/v1/retry/policy'

/** Within the bounds that the view has. */
const VIEW = fc.record(
  {
    max_attempts: fc.integer({ min: 1, max: 10 }),
    backoff_strategy: fc.constantFrom('exponential', 'linear', 'fixed'),
    base_delay: fc.integer({ min: 1, max: 60_000 }).map((ms) => ms / 1000),
    multiplier: fc.double({ min: 1, max: 10, minExcluded: true, noNaN: true }),
    max_backoff_delay: fc.integer({ min: 1, max: 300_000 }).map((ms) => ms / 1000),
    jitter: fc.boolean(),
    retry_status_codes: fc.array(fc.integer({ min: 500, max: 599 })),
    timeout: fc.option(fc.integer({ min: 1, max: 1_000_000 }).map((ms) => ms / 1000)),
    retry_non_idempotent: fc.boolean(),
  },
  { requiredKeys: [] },
)

const DEFAULTS = {
  max_attempts: 3,
  backoff_strategy: 'exponential',
  base_delay: 1,
  multiplier: 2,
  max_backoff_delay: 30,
  jitter: false,
  retry_status_codes: [502, 503, 504],
  timeout: null,
  retry_non_idempotent: false,
}

describe('the default policy in a proxy rotator’s words', () => {
  test('starts with its defaults', async () => {
    const { ask } = await open()
    expect((await ask('GET', PATH)).body).toEqual({ ...DEFAULTS, updated_at: '2026-01-29T12:00:00.000Z' })
  })

  test('tells when it last became another, however that was', async () => {
    const { ask, clock, hf } = await open()
    const updated = async () => (await ask('GET', PATH)).body.updated_at
    const next = () => clock.stepWall(60_000)
    next()
    await ask('PUT', PATH, { body: { max_attempts: 5 } })
    expect(await updated()).toBe('2026-01-29T12:01:00.000Z')
    next()
    await ask('PUT', '/api/v1/policies/quick', { body: { max_attempts: 5 } })
    expect(await updated()).toBe('2026-01-29T12:01:00.000Z')
    await ask('POST', '/api/v1/config/rollback', { body: { version: 0 } })
    expect(await updated()).toBe('2026-01-29T12:02:00.000Z')
    next()
    await hf.policies.put({ id: 'default', maxAttempts: 4 })
    next()
    await ask('POST', '/api/v1/config/clear')
    expect(await updated()).toBe('2026-01-29T12:04:00.000Z')
  })

  test('takes whatever is within its bounds, and answers it; what is left out is its default', async () => {
    const { ask } = await open()
    await fc.assert(
      fc.asyncProperty(VIEW, async (view) => {
        const { status, body } = await ask('PUT', PATH, { body: view })
        expect(status).toBe(200)
        const { updated_at: _, ...answered } = body
        const wanted = { ...DEFAULTS, ...view }
        // A wait never exceeds the cap, so a longer first wait is the cap.
        wanted.base_delay = Math.min(wanted.base_delay, wanted.max_backoff_delay)
        expect(answered).toEqual(wanted)
        expect((await ask('GET', PATH)).body).toEqual(body)
      }),
      { numRuns: 50 },
    )
  })

  test.each([
    ['max_attempts', 0],
    ['max_attempts', 11],
    ['max_attempts', 1.5],
    ['backoff_strategy', 'immediate'],
    ['base_delay', 0],
    ['base_delay', 61],
    ['multiplier', 1],
    ['multiplier', 10.1],
    ['max_backoff_delay', 0],
    ['max_backoff_delay', 301],
    ['jitter', 'yes'],
    ['retry_status_codes', [429]],
    ['retry_status_codes', [600]],
    ['timeout', 0],
    ['retry_non_idempotent', 1],
    ['max_retries', 3],
  ])('refuses %s %j and names it', async (field, value) => {
    const { ask } = await open()
    const { status, body } = await ask('PUT', PATH, { body: { [field]: value } })
    expect(status).toBe(400)
    expect(body).toMatchObject({ error: 'BAD_REQUEST', details: [{ in: 'body' }] })
    expect(body.message).toContain(field)
  })

  test('is in force at once, and its change is told by whom and when', async () => {
    const { ask, hf, clock } = await open()
    await clock.advance(1000)
    const { body } = await ask('PUT', PATH, {
      body: { max_attempts: 2, jitter: true },
      headers: { 'x-reason': 'calm' },
    })
    expect(body.updated_at).toBe('2026-01-29T12:00:01.000Z')
    expect(await hf.policies.get('default')).toMatchObject({
      maxAttempts: 2,
      jitterType: 'proportional',
      jitterAmount: 0.5,
    })
    const { items } = await hf.audit.list({ action: 'policy.put' })
    expect(items).toMatchObject([{ actor: 'local', target: 'default', reason: 'calm' }])
  })

  test.each<[Partial<RetryPolicy>, object]>([
    [{ jitterType: 'proportional', jitterAmount: 0.5 }, { jitter: true }],
    [{ backoffType: 'fixed', multiplier: 1 }, { backoff_strategy: 'fixed' }],
  ])('says all of %j', async (fields, view) => {
    const { hf } = await open()
    const told = toView({ ...(await hf.policies.get('default')), ...fields })
    expect(told).toMatchObject(view)
    expect(told).not.toHaveProperty('approximate')
  })

  test.each<[Partial<RetryPolicy>, object]>([
    [{ maxAttempts: Number.POSITIVE_INFINITY }, { max_attempts: 10 }],
    [{ backoffType: 'immediate' }, { backoff_strategy: 'fixed', base_delay: 0.001 }],
    [{ backoffType: 'fibonacci' }, { backoff_strategy: 'exponential' }],
    [{ maxDelay: 400_000 }, { max_backoff_delay: 300 }],
    [{ multiplier: 1 }, { multiplier: 1.001 }],
    [{ jitterType: 'full' }, { jitter: true }],
    [{ retryStatusCodes: [429, 503] }, { retry_status_codes: [503] }],
    [{ retryableExceptions: ['ECONNRESET'] }, {}],
  ])('says the nearest of %j, and that it is not exact', async (fields, nearest) => {
    const { hf } = await open()
    const policy = { ...(await hf.policies.get('default')), ...fields } as RetryPolicy
    expect(toView(policy)).toMatchObject({ ...nearest, approximate: true })
  })
})
