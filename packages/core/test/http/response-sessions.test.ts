import { expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { sessionOf } from '../../src/index.js'

const IMMEDIATE = { maxAttempts: 3, backoffType: 'immediate' } as const

const answers =
  (...statuses: number[]) =>
  async () =>
    new Response(null, { status: (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 500 })

it('a response to the first attempt has a session', async () => {
  const response = await createFetch({ name: 'api', fetch: answers(200) })('https://api.example')
  expect(sessionOf(response)).toMatchObject({
    operation: 'api',
    success: true,
    stopped: 'succeeded',
    attempts: [{ number: 1, outcome: 'success' }],
  })
})

it('a response after retries has a session with the failed attempts', async () => {
  const response = await createFetch({ fetch: answers(503, 429, 200), retry: IMMEDIATE })(
    'https://api.example',
  )
  expect(response.status).toBe(200)
  expect(sessionOf(response)?.attempts).toMatchObject([
    { outcome: 'failure', statusCode: 503 },
    { outcome: 'failure', statusCode: 429 },
    { outcome: 'success' },
  ])
})

it('a response with the status of the last attempt has a session without success', async () => {
  const response = await createFetch({ fetch: answers(503), retry: IMMEDIATE })('https://api.example')
  expect(response.status).toBe(503)
  expect(sessionOf(response)).toMatchObject({ success: false, stopped: 'attempts_spent' })
  expect(sessionOf(response)?.attempts).toHaveLength(3)
})

it('a response of the fallback has a session that names it', async () => {
  const fetch = createFetch({
    fetch: () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNRESET' })),
    retry: IMMEDIATE,
    fallback: () => new Response('cached'),
  })
  const response = await fetch('https://api.example')
  expect(await response.text()).toBe('cached')
  expect(sessionOf(response)).toMatchObject({ success: false, stopped: 'attempts_spent', served: 'fallback' })
})

it('a response of a disabled fetch has a session with one attempt', async () => {
  const response = await createFetch({ fetch: answers(200), enabled: false })('https://api.example')
  expect(sessionOf(response)?.attempts).toHaveLength(1)
})

it('a response of a fetch inside another has the session of the outer one, with the inner session', async () => {
  const inner = createFetch({
    name: 'inner',
    fetch: answers(503, 200),
    retry: { ...IMMEDIATE, maxAttempts: 1 },
  })
  const outer = createFetch({ name: 'outer', fetch: inner, retry: IMMEDIATE })
  const session = sessionOf(await outer('https://api.example'))
  expect(session).toMatchObject({ operation: 'outer', success: true })
  expect(session?.attempts).toHaveLength(2)
  expect(session?.inner).toMatchObject([{ operation: 'inner', success: false, stopped: 'attempts_spent' }])
})

it('a response that no guard returned has no session', () => {
  expect(sessionOf(new Response())).toBeUndefined()
})
