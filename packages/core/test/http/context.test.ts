import { Agent, request } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { resilience } from '../../src/undici/index.js'
import { serve } from './server.js'

/** The contexts of all events of one request. */
async function contextsOf(input: string | URL | Request, init: object = {}) {
  const told: unknown[] = []
  const send = createFetch({ retry: false, fetch: async () => new Response(null, { status: 503 }) })
  send.on((event) => 'context' in event && told.push(event.context))
  await send(input, init)
  return told
}

it.each([
  ['https://API.example:443/users/7', 'https://api.example', 'https://api.example/users/7'],
  ['http://ann:secret@a.example:8080/x', 'http://a.example:8080', 'http://a.example:8080/x'],
  [
    'https://a.example/x?key=secret&b=secret#secret',
    'https://a.example',
    'https://a.example/x?key=[redacted]&b=[redacted]',
  ],
  ['https://a.example/x?secret', 'https://a.example', 'https://a.example/x?[redacted]'],
  [
    'https://a.example/bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/send',
    'https://a.example',
    'https://a.example/[redacted]/send',
  ],
  ['/relative', '', '/relative'],
])('the context of events for %s is plain data without secrets', async (input, origin, url) => {
  const [context, ...more] = await contextsOf(input)
  expect(context).toStrictEqual({ method: 'GET', origin, url })
  expect(Object.getPrototypeOf(context)).toBe(Object.prototype)
  expect(structuredClone(context)).toEqual(context)
  expect(JSON.parse(JSON.stringify(context))).toEqual(context)
  expect(more.every((one) => one === context)).toBe(true)
})

it('the context of events for a Request with additional fields is plain data', async () => {
  const given = new Request('https://a.example/x', {
    method: 'POST',
    body: 'secret',
    headers: { 'x-key': 'secret' },
  })
  const [context] = await contextsOf(given, { context: { session: 's' } })
  expect(structuredClone(context)).toStrictEqual({
    method: 'POST',
    origin: 'https://a.example',
    url: 'https://a.example/x',
    session: 's',
  })
})

it('the context of events of the interceptor for undici is plain data', async () => {
  const server = await serve()
  const told: unknown[] = []
  const intercept = resilience({ retry: false })
  intercept.on((event) => 'context' in event && told.push(event.context))
  const plain = new Agent()
  onTestFinished(() => plain.destroy())
  await request(`${server.url}/x?key=secret`, { dispatcher: plain.compose(intercept) })
  expect(told).toStrictEqual([{ method: 'GET', origin: server.url, url: `${server.url}/x?key=[redacted]` }])
})
