import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { open } from '../fixture.js'

const headers = { 'x-request-id': 'chosen-by-the-client' }

test.each([
  [200, [{ success: true, status_code: 200 }]],
  [503, [{ success: false, outcome: 'failure' }]],
])(
  'a request answered with %i reports its own attempts while another one with the same x-request-id fails',
  async (status, attempts) => {
    const { ask } = await open(
      { allowPrivateTargets: true },
      { version: '1.2.0', policies: { default: { maxAttempts: 1 } } },
    )
    const target = createServer().listen(0, '127.0.0.1')
    await once(target, 'listening')
    onTestFinished(() => {
      target.closeAllConnections()
      target.close()
    })
    const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`
    const asked = once(target, 'request')
    const waiting = ask('POST', '/api/v1/request', { headers, body: { url } })
    const [, response] = (await asked) as [unknown, ServerResponse]
    const failed = await ask('POST', '/api/v1/request', { headers, body: { url: 'http://127.0.0.1:1/' } })
    expect(failed.status).toBe(502)
    expect(failed.body.details).toMatchObject([{ success: false, outcome: 'failure' }])
    expect(JSON.stringify(failed.body.details)).toContain('ECONNREFUSED')
    response.writeHead(status).end()
    const { body } = await waiting
    expect(body).toMatchObject({ status, attempts })
    expect(JSON.stringify(body.attempts)).not.toContain('ECONNREFUSED')
  },
)
