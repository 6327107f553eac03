import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { guard, type RetryBudget, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
})

afterEach(() => {
  vi.restoreAllMocks()
})

const broken = () =>
  ({
    deposit() {},
    withdraw() {
      throw new Error('broken budget')
    },
  }) as unknown as RetryBudget

it('treats a budget that throws as exhausted', async () => {
  const api = guard({ budget: broken(), retry: { backoffType: 'immediate' } })
  const error: unknown = await api.run(() => Promise.reject(new Error('unavailable'))).catch((e) => e)
  expect((error as Error).message).toBe('unavailable')
  expect(sessionOf(error)?.stopped).toBe('budget_spent')
})

it('keeps the deadlines of other calls when a budget throws at a deadline', async () => {
  const clock = fakeClock()
  const api = guard({ budget: broken(), timeout: { attempt: 100 }, clock })
  const hang = () => new Promise<never>(() => {})
  const codes = [api.run(hang), api.run(hang)].map((call) =>
    call.catch((error: { code: string }) => error.code),
  )
  await clock.advance(200)
  expect(await Promise.all(codes)).toEqual(['ATTEMPT_TIMEOUT', 'ATTEMPT_TIMEOUT'])
})

it('runs a call although its budget throws at the first attempt, and keeps no bulkhead slot afterwards', async () => {
  const budget = {
    deposit() {
      throw new Error('broken budget')
    },
    withdraw: () => true,
  } as unknown as RetryBudget
  const api = guard({ budget, bulkhead: { limit: 1, queue: 1 }, retry: false })
  expect(await Promise.all([api.run(() => 1), api.run(() => 2)])).toEqual([1, 2])
  expect(await api.run(() => 3)).toBe(3)
})

it('does not report a budget that has only deposit and withdraw when beforeRetry throws', async () => {
  const budget = { deposit() {}, withdraw: () => true } as unknown as RetryBudget
  const beforeRetry = () => Promise.reject(new Error('no token'))
  const api = guard({ budget, retry: { backoffType: 'immediate', beforeRetry } })
  await expect(api.run(() => Promise.reject(new Error('unavailable')))).rejects.toThrow('no token')
  expect(console.error).not.toHaveBeenCalled()
})
