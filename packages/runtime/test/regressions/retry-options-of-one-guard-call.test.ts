import type { GuardEvent } from 'holdfast'
import { expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it('guard: accepts retry options for one call, and emits the events of the core', async () => {
  const { hf } = await start(QUICK)
  const guard = hf.guard('quick')
  const events: GuardEvent[] = []
  const off = guard.on((event) => void events.push(event))
  const error = refused()
  let calls = 0
  const fail = () => {
    calls++
    return Promise.reject(error)
  }
  await guard.run(fail, { retry: { maxAttempts: 2 } }).catch(() => {})
  expect(calls).toBe(2)
  await guard.run(fail, { retry: { abortOn: [() => true] } }).catch(() => {})
  expect(calls).toBe(3)
  await guard.run(fail, { retry: false }).catch(() => {})
  expect(calls).toBe(4)
  await guard.run(async () => 1)
  off()
  expect(events.slice(0, 4).map(({ type }) => type)).toEqual([
    'attempt_failed',
    'retry_scheduled',
    'attempt_failed',
    'gave_up',
  ])
  expect(events[3]).toMatchObject({ attempt: 2, stopped: 'attempts_spent' })
  expect((events[3] as { error: unknown }).error).toBe(error)
  expect(events.at(-1)).toMatchObject({ type: 'succeeded', attempt: 1 })
  await expect(guard.run(fail, { retry: { maxAttempts: 0 } })).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
  })
})
