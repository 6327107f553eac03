import { expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { guard, sessionOf } from '../../src/index.js'

it('the response of a disabled fetch has a session, whatever its status', async () => {
  const fetch = createFetch({ enabled: false, fetch: async () => new Response(null, { status: 503 }) })
  const response = await fetch('https://api.example')
  expect(response.status).toBe(503)
  expect(sessionOf(response)).toMatchObject({ success: false, attempts: [{ number: 1, outcome: 'failure' }] })
})

it('the error of execute of a disabled guard has a session', async () => {
  const down = new Error('down')
  await expect(guard({ enabled: false }).execute(() => Promise.reject(down))).rejects.toBe(down)
  expect(sessionOf(down)).toMatchObject({
    success: false,
    stopped: 'attempts_spent',
    attempts: [{ error: down }],
  })
})
