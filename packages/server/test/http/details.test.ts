import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

describe('an error response because of a field', () => {
  test.each([
    ['PUT', '/policies/quick', { max_attempts: 0 }, 'max_attempts'],
    ['PUT', '/policies/quick', { base_delay: 50, max_delay: 10 }, 'max_delay'],
    ['PUT', '/policies/quick', { circuit_breaker: 'unknown' }, 'circuit_breaker'],
    ['PUT', '/policies/quick', { retryable_exceptions: ['no identifier'] }, 'retryable_exceptions[0]'],
    ['PUT', '/policies/quick', '{}', 'content-type'],
    ['PUT', '/retry/policy', { max_attempts: 11 }, 'max_attempts'],
    ['POST', '/config/rollback', { version: 99 }, 'version'],
    ['POST', '/config/rollback', { version: 'a' }, 'version'],
    ['POST', '/pools/proxies/members', { url: 'ftp://10.0.0.9' }, 'url'],
    ['POST', '/pools/proxies/members', { id: 'p1', url: 'http://10.0.0.9' }, 'id'],
    ['PATCH', '/pools/proxies/members/p1', { weight: -1 }, 'weight'],
    ['POST', '/request', { url: 'nonsense' }, 'url'],
    ['GET', '/policies?cursor=x', undefined, 'cursor'],
    ['GET', '/sessions?cursor=x', undefined, 'cursor'],
    ['GET', '/errors?cursor=x', undefined, 'cursor'],
    ['GET', '/audit?cursor=x', undefined, 'cursor'],
    ['GET', '/dead-letters?cursor=x', undefined, 'cursor'],
    ['GET', '/circuit-breakers/metrics?cursor=x', undefined, 'cursor'],
    ['GET', '/config/history?cursor=x', undefined, 'cursor'],
    ['GET', '/metrics/window?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', undefined, 'from'],
  ])('%s %s %j names the field', async (method, path, body, field) => {
    const { ask } = await open()
    const answer = await ask(method, `/api/v1${path}`, { body })
    expect(answer).toMatchObject({
      status: 400,
      body: { details: [{ path: field, message: expect.stringMatching(/./) }] },
    })
  })

  test('a body that is not JSON has an empty path', async () => {
    const { ask } = await open()
    const headers = { 'content-type': 'application/json' }
    const answer = await ask('PUT', '/api/v1/policies/quick', { body: '{', headers })
    expect(answer).toMatchObject({ status: 400, body: { details: [{ in: 'body', path: '' }] } })
  })
})
