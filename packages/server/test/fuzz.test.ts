import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createToken } from '../src/auth/tokens.js'
import { failCall, open } from './fixture.js'
import { anything } from './openapi/arbitrary.js'
import { type Document, operationsOf } from './openapi/document.js'

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']

const TEXT = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    '..',
    '.',
    '%00',
    '%',
    '%2e%2e%2f',
    'null',
    '1e400',
    '__proto__',
    'constructor',
    'a'.repeat(3000),
    '\u{1f600}',
    '[]',
  ),
)

const HEADERS = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'if-match',
    'if-none-match',
    'x-reason',
    'x-request-id',
    'last-event-id',
    'accept',
    'origin',
    'content-length',
    'sec-fetch-site',
    'authorization',
    'x-http-method-override',
  ),
  fc.oneof(
    fc.stringMatching(/^[ -~]{0,40}$/),
    fc.constantFrom('application/json', 'application/json; charset=x', '*', '-1', 'null', 'Bearer x'),
  ),
  { maxKeys: 3 },
)

const BODY = fc.oneof(
  fc.constant(undefined),
  fc.string({ maxLength: 200 }),
  anything.map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{',
    '[[[[[[',
    `${'['.repeat(20_000)}`,
    '{"a":1e999}',
    '{"__proto__":{"polluted":true}}',
    '\ufeff{}',
    '"',
    'version: "1.1.0"\na: &a [*a]',
  ),
)

test('10,000 fuzzed requests over every route cause no 500 and reveal no secret', async () => {
  const logged: string[] = []
  const { hf, app, ask } = await open({ logger: { error: (fields) => logged.push(JSON.stringify(fields)) } })
  await failCall(hf, 'quick', { payload: { a: 1 }, itemId: 'i', context: { password: 'hunter2' } })
  const routes = operationsOf((await ask('GET', '/openapi.json')).body as Document).map(({ path }) => path)
  const paths = fc.oneof(
    fc
      .tuple(fc.constantFrom(...routes), fc.array(TEXT, { minLength: 3, maxLength: 3 }))
      .map(([path, words]) => {
        let i = 0
        return path.replaceAll(/\{\w+\}/g, () =>
          encodeURIComponent((words[i++] as string).replaceAll(/[\ud800-\udfff]/g, '')),
        )
      }),
    fc.tuple(fc.constantFrom(...routes), TEXT).map(([path, word]) => `${path}/${word}`),
    TEXT.map((word) => `/${word}`),
  )
  const query = fc.dictionary(
    fc.constantFrom(
      'limit',
      'cursor',
      'hours',
      'from',
      'to',
      'type',
      'operation',
      'state',
      'active',
      'order',
      'x',
      '__proto__',
    ),
    TEXT,
    { maxKeys: 3 },
  )
  const request = fc.record({
    method: fc.constantFrom(...METHODS),
    path: paths,
    query,
    headers: HEADERS,
    body: BODY,
  })
  let asked = 0
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, query: fields, headers, body }) => {
      const search = Object.keys(fields).length === 0 ? '' : `?${new URLSearchParams(fields)}`
      const init = {
        method,
        headers,
        ...(body === undefined || method === 'GET' || method === 'HEAD' ? {} : { body }),
      }
      let made: Request
      try {
        made = new Request(new URL(`http://localhost${path}${search}`), init)
      } catch {
        return // The client itself refuses to send it.
      }
      asked++
      const answer = await app.fetch(made)
      expect(answer.status).not.toBe(500)
      expect(answer.headers.get('x-request-id')).not.toBeNull()
      if (answer.headers.get('content-type') === 'text/event-stream') return answer.body?.cancel()
      const said = await answer.text()
      expect(said).not.toContain('hunter2')
      if (answer.status >= 400 && method !== 'HEAD') expect(JSON.parse(said)).toHaveProperty('error')
    }),
    { numRuns: 10_000, endOnFailure: true },
  )
  expect(asked).toBeGreaterThan(8000)
  expect(logged).toEqual([])
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
})

test('fuzzed requests without a required token reveal nothing', async () => {
  const { hf, app, ask } = await open()
  await createToken(hf, { name: 'only', role: 'admin' })
  const routes = operationsOf((await ask('GET', '/openapi.json')).body as Document)
    .map(({ path }) => path)
    .filter((path) => path.startsWith('/api/'))
  const request = fc.record({
    method: fc.constantFrom(...METHODS),
    path: fc.constantFrom(...routes),
    headers: HEADERS,
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, headers }) => {
      let made: Request
      try {
        made = new Request(new URL(`http://localhost${path}`), { method, headers })
      } catch {
        return
      }
      const answer = await app.fetch(made)
      expect([401, 429]).toContain(answer.status)
      await answer.body?.cancel()
    }),
    { numRuns: 1000 },
  )
})
