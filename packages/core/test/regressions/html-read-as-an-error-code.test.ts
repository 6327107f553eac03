// The error page of a proxy with `"code":"…"` in a script was read as the error code of the service, and ended the retries.
import { gzipSync } from 'node:zlib'
import { Agent, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { resilience } from '../../src/undici/index.js'
import { immediate, serve } from '../http/server.js'

const PAGE = '<!doctype html><script>window.state = {"error":{"code":"insufficient_quota"}}</script>'
const retry = { ...immediate, abortOn: ['insufficient_quota'] }

/** How many requests arrive if the first response is a 503 with this body. */
async function countRequests(body: string): Promise<number> {
  const server = await serve({ status: 503, body })
  await (await createFetch({ retry })(server.url)).text()
  return server.seen.length
}

describe('a body that is not a JSON object', () => {
  it.each([
    PAGE,
    'upstream error "code":"insufficient_quota"',
    '["code","insufficient_quota",{"code":"insufficient_quota"}]',
    '{{error}} "code":"insufficient_quota"',
    '{"error" = "x", "code":"insufficient_quota"}',
    '{"error":{"code":"insufficient_quota"}} {"code":"insufficient_quota"}',
    '{"a":1}, "code":"insufficient_quota"',
  ])('has no error code: %s', async (body) => {
    expect(await countRequests(body)).toBe(2)
  })

  it.each(['identity', 'gzip'])(
    'has no error code under the interceptor for undici, with %s',
    async (coding) => {
      const server = await serve((_, response) => {
        response.writeHead(503, { 'content-encoding': coding }).end(coding === 'gzip' ? gzipSync(PAGE) : PAGE)
      })
      const plain = new Agent()
      onTestFinished(() => plain.destroy())
      const dispatcher = plain.compose(resilience({ retry }))
      await (await undiciFetch(server.url, { dispatcher })).text()
      expect(server.seen).toHaveLength(2)
    },
  )
})

describe('a JSON object whose end is missing', () => {
  const filler = 'x'.repeat(70_000)
  it.each([
    ['before a long text', `{"error":{"code":"insufficient_quota","message":"${filler}"}}`],
    ['before a list', `{"code":"insufficient_quota","items":[{"a":[1,{"b":"]}"}]},"${filler}"]}`],
    [
      'after a list',
      `{"error":{"details":[{"code":"other"}],"code":"insufficient_quota"},"text":"\\"${filler}"}`,
    ],
  ])('has the error code %s', async (_place, body) => {
    expect(await countRequests(body)).toBe(1)
  })

  it.each([
    ['an element of a list', `{"items":[{"code":"insufficient_quota"}],"text":"${filler}"}`],
    ['another object', `{"request":{"code":"insufficient_quota","text":"${filler}"}}`],
    ['a text', `{"text":"\\"code\\":\\"insufficient_quota\\"","more":"${filler}"}`],
  ])('does not have the code of %s as its error code', async (_place, body) => {
    expect(await countRequests(body)).toBe(2)
  })
})
