import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

const CONFIG = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }
const never = () => new Promise<never>(() => {})

it('guard: the timeouts of one call are merged field by field over those of the guard', async () => {
  const clock = fakeClock()
  const { hf } = await start(CONFIG, { clock })
  const guard = hf.guard('quick', { retry: false, timeout: { attempt: 100, total: 1000 } })
  const codeOf = (call: Promise<unknown>) => call.catch(({ code }: { code: string }) => code)
  const total = codeOf(guard.run(never, { timeout: { attempt: Infinity } }))
  await clock.advance(1000)
  expect(await total).toBe('TOTAL_TIMEOUT')
  const attempt = codeOf(guard.run(never, { timeout: { total: 5000, attempt: undefined } }))
  await clock.advance(100)
  expect(await attempt).toBe('ATTEMPT_TIMEOUT')
})

it('guard: the retry options of one call are merged field by field over those of the guard', async () => {
  const { hf } = await start(CONFIG)
  const guard = hf.guard('quick', { retry: { maxAttempts: 5 } })
  let calls = 0
  const fail = () => {
    calls++
    return Promise.reject(refused())
  }
  await guard.run(fail, { retry: { maxDelay: 1000 } }).catch(() => {})
  expect(calls).toBe(5)
  await guard.run(fail, { retry: false }).catch(() => {})
  expect(calls).toBe(6)
})

it.each([[[]], [null], [5]])('run: %o in place of options is rejected', async (options) => {
  const { hf } = await start(CONFIG)
  await expect(hf.run('quick', () => 1, options as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
})
