import fc from 'fast-check'
import { expect, test } from 'vitest'
import { testTarget } from '../../../../test/fuzz/short.js'
import { createToken } from '../../src/auth/tokens.js'
import { open } from '../fixture.js'
import { type Document, operationsOf } from '../openapi/document.js'
import { target as rest } from './rest.target.js'
import { target as sse } from './sse.target.js'

testTarget(rest, 500)
testTarget(sse, 500)

test('fuzzed requests without a required token reveal nothing', async () => {
  const { hf, app, ask } = await open()
  await createToken(hf, { name: 'only', role: 'admin' })
  const routes = operationsOf((await ask('GET', '/openapi.json')).body as Document)
    .map(({ path }) => path)
    .filter((path) => path.startsWith('/api/'))
  const request = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'),
    path: fc.constantFrom(...routes),
    headers: fc.dictionary(
      fc.constantFrom(
        'content-type',
        'if-match',
        'x-request-id',
        'origin',
        'sec-fetch-site',
        'authorization',
        'cookie',
      ),
      fc.oneof(fc.stringMatching(/^[ -~]{0,40}$/), fc.constantFrom('application/json', '*', 'Bearer x')),
      { maxKeys: 3 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, headers }) => {
      const answer = await app.fetch(new Request(`http://localhost${path}`, { method, headers }))
      expect([401, 429]).toContain(answer.status)
      await answer.body?.cancel()
    }),
    { numRuns: 1000 },
  )
})
