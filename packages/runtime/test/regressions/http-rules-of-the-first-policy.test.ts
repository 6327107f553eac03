// HTTP rules came from the policy of the first attempt, and not from the policy for the kind of failure.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { start } from '../holdfast/setup.js'

const retries = { maxAttempts: 3, backoffType: 'immediate' } as const
const CONFIG = {
  policies: {
    unavailable: { ...retries, retryStatusCodes: [503] },
    notImplemented: { ...retries, retryStatusCodes: [501] },
    repeated: { ...retries, retryNonIdempotent: true },
    plain: retries,
  },
  subsystemMappings: {
    m: {
      codes: { rate_limited: 'plain', default: 'unavailable' },
      permanent: { rate_limited: 'unavailable', default: 'notImplemented' },
      post: { rate_limited: 'repeated', default: 'plain' },
      once: { rate_limited: 'plain', default: 'repeated' },
    },
  },
}

const cases = [
  { operation: 'm.codes', method: 'GET', answers: [429, 200], expected: [200, 2] },
  { operation: 'm.codes', method: 'GET', answers: [503, 200], expected: [200, 2] },
  { operation: 'm.codes', method: 'GET', answers: [500, 200], expected: [500, 1] },
  { operation: 'm.permanent', method: 'GET', answers: [501, 200], expected: [200, 2] },
  { operation: 'm.permanent', method: 'GET', answers: [429, 200], expected: [429, 1] },
  { operation: 'm.post', method: 'POST', answers: [429, 200], expected: [200, 2] },
  { operation: 'm.post', method: 'POST', answers: [503, 200], expected: [503, 1] },
  { operation: 'm.once', method: 'POST', answers: [429, 200], expected: [429, 1] },
  { operation: 'm.once', method: 'POST', answers: [503, 200], expected: [200, 2] },
]

describe.each(cases)(
  '$method $operation that answers $answers',
  ({ operation, method, answers, expected }) => {
    const body = method === 'POST' ? 'x' : null

    it('is retried by hf.createFetch as the policy for the failure says', async () => {
      const { hf } = await start(CONFIG)
      let count = 0
      const fetch = async () => new Response('', { status: answers[count++] ?? 200 })
      const { status } = await hf.createFetch(operation, { fetch })('http://a.test/', { method, body })
      expect([status, count]).toEqual(expected)
    })

    it('is retried by hf.undici as the policy for the failure says', async () => {
      const { hf } = await start(CONFIG)
      let count = 0
      const server = createServer((_, response) => response.writeHead(answers[count++] ?? 200).end())
      await new Promise<void>((resolve) => server.listen(0, resolve))
      onTestFinished(() => void server.close())
      const agent = new Agent()
      onTestFinished(() => agent.destroy())
      const url = `http://localhost:${(server.address() as AddressInfo).port}`
      const { statusCode } = await request(url, {
        dispatcher: agent.compose(hf.undici(operation)),
        method: method as 'GET',
        body,
      })
      expect([statusCode, count]).toEqual(expected)
    })
  },
)

it('options of one request replace the rules of every policy', async () => {
  const { hf } = await start(CONFIG)
  let count = 0
  const fetch = async () => new Response('', { status: [429, 503, 200][count++] ?? 200 })
  const send = hf.createFetch('m.codes', { fetch, retry: { retryStatusCodes: [429] } })
  expect([(await send('http://a.test/')).status, count]).toEqual([503, 2])
})
