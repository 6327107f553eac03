import { expect, it } from 'vitest'
import { guard, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a first attempt that timed out is followed by another, and its late result is ignored', async () => {
  const clock = fakeClock()
  const answers: ((value: string) => void)[] = []
  const slow = guard({ clock, timeout: { attempt: 100, total: 1000 }, retry: { backoffType: 'immediate' } })
  const call = slow.wrap(() => new Promise<string>((resolve) => answers.push(resolve)))()
  await clock.advance(100)
  answers[0]?.('late')
  await clock.advance(10)
  answers[1]?.('in time')
  await expect(call).resolves.toBe('in time')
  expect(answers.length).toBe(2)
})

it('the total deadline counts from the first attempt, in either deadline queue', async () => {
  const clock = fakeClock()
  const slow = guard({ clock, timeout: { total: 100 }, retry: { backoffType: 'fixed', baseDelay: 30 } })
  const call = slow
    .run(({ number }) => (number === 1 ? Promise.reject(new Error('down')) : new Promise(() => {})))
    .catch((error: unknown) => error)
  await clock.advance(99)
  await clock.advance(1)
  const error = await call
  expect(error).toMatchObject({ code: 'TOTAL_TIMEOUT', cause: { message: 'down' } })
  expect(sessionOf(error)?.attempts.map(({ duration }) => duration)).toEqual([0, 70])
})

it('a success with a deadline counts in a consecutive window', async () => {
  const api = guard({
    retry: false,
    timeout: { attempt: 1000 },
    breaker: { windowType: 'consecutive', failureThreshold: 2 },
  })
  const fail = () => api.run(() => Promise.reject(new Error('down'))).catch(() => {})
  await fail()
  await api.run(() => 'fine')
  await fail()
  expect(api.breaker?.state).toBe('closed')
  await fail()
  expect(api.breaker?.state).toBe('open')
})

it('an error with a session has no additional keys, even behind a Proxy', async () => {
  const once = guard({ retry: false })
  const plain = new Error('down')
  const hidden = new Proxy(new Error('hidden'), {})
  const before = Reflect.ownKeys(plain)
  for (const error of [plain, hidden]) {
    await once.run(() => Promise.reject(error)).catch(() => {})
    expect(sessionOf(error)?.stopped).toBe('attempts_spent')
  }
  expect(Reflect.ownKeys(plain)).toEqual(before)
  expect(sessionOf(structuredClone(plain))).toBe(undefined)
})
