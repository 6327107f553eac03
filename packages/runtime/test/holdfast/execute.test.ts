import { sessionOf } from 'holdfast'
import { expect, it } from 'vitest'
import { refused, start } from './setup.js'

const POLICY = { maxAttempts: 2, backoffType: 'immediate' }

it('execute of a configured guard resolves to the value and the session of the call', async () => {
  const { hf } = await start({ policies: { web: POLICY } })
  const api = hf.guard('web', { context: { tenant: 'a' } })
  const { value, session } = await api.execute(({ number }) =>
    number === 1 ? Promise.reject(refused()) : number,
  )
  expect(value).toBe(2)
  expect(session).toMatchObject({ operation: 'web', success: true, stopped: 'succeeded' })
  expect(session.attempts).toHaveLength(2)
  const first = await api.execute(() => 'at once', { retry: false })
  expect(first.session.attempts).toHaveLength(1)
  expect((await hf.sessions.list()).items).toHaveLength(1)
})

it('execute of a configured guard rejects as run does', async () => {
  const { hf } = await start({ policies: { web: POLICY } })
  const api = hf.guard('web')
  const error = await api.execute(() => Promise.reject(refused())).catch((thrown: unknown) => thrown)
  expect(sessionOf(error)).toMatchObject({ stopped: 'attempts_spent' })
  await expect(api.execute(() => 1, { retries: 5 } as never)).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
  })
  await hf.close()
  await expect(api.execute(() => 1)).rejects.toMatchObject({ code: 'CANCELLED' })
})

it('execute of a configured guard marks the value of its fallback', async () => {
  const { hf } = await start({ policies: { web: POLICY } })
  const { value, session } = await hf.guard('web', { fallback: () => 'cached' }).execute((): string => {
    throw refused()
  })
  expect(value).toBe('cached')
  expect(session).toMatchObject({ success: false, stopped: 'attempts_spent', served: 'fallback' })
  expect(session.attempts).toHaveLength(2)
})

it('execute of a disabled operation resolves to a session with one attempt', async () => {
  const { hf } = await start({ policies: { web: { ...POLICY, enabled: false } } })
  const { value, session } = await hf.guard('web').execute(() => 5)
  expect(value).toBe(5)
  expect(session.attempts).toMatchObject([{ number: 1, outcome: 'success' }])
})

it('an error of beforeRetry is recorded and dead-lettered', async () => {
  const { hf } = await start({ policies: { web: POLICY } })
  const beforeRetry = () => Promise.reject(new Error('no token'))
  const error = await hf
    .run('web', () => Promise.reject(refused()), { payload: { id: 7 }, retry: { beforeRetry } })
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ message: 'no token', cause: { code: 'ECONNREFUSED' } })
  const [letter] = (await hf.deadLetters.list()).items
  expect(letter).toMatchObject({ originalPayload: { id: 7 }, errorDetails: { errorMessage: 'no token' } })
  expect((await hf.sessions.list()).items).toMatchObject([{ stopped: 'before_retry' }])
})
