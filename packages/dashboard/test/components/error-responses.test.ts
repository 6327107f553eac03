import { expect, it } from 'vitest'
import { parseError } from '../../src/api/error-response.js'

/** The error of a response with this body. */
const errorOf = (body: string): Promise<unknown> =>
  parseError(new Response(body, { status: 503, headers: { 'retry-after': '7' } }))

it('has the error code, the message and the details of an error response', async () => {
  const body = { error: 'STORE_UNAVAILABLE', message: 'the disk is full', details: ['a'] }
  expect(await errorOf(JSON.stringify(body))).toMatchObject({
    status: 503,
    code: 'STORE_UNAVAILABLE',
    message: 'the disk is full',
    details: ['a'],
    retryAfter: 7,
  })
})

it.each([
  '<html><script>{"error":"STORE_UNAVAILABLE","message":"a"}</script>',
  '{"error":"STORE_UNAVAILABLE"}',
  '{"error":{"code":"STORE_UNAVAILABLE","message":"a"}}',
  '{"error":"Service Unavailable","message":"a"}',
  '["STORE_UNAVAILABLE"]',
  'null',
  '',
])('has no error code of a response that another program has sent: %s', async (body) => {
  expect(await errorOf(body)).toMatchObject({
    status: 503,
    code: 'UNREADABLE',
    message: 'The server responded with status 503 and no error message.',
    details: [],
    retryAfter: 7,
  })
})
