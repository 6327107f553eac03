import { expect, test } from 'vitest'
import { open } from '../fixture.js'

test.each([
  [
    'GET',
    '/metrics/retries/timeseries?hours=169',
    undefined,
    'hours',
    'expected a number of at most 168, got 169',
  ],
  ['GET', '/metrics/retries/timeseries?hours=x', undefined, 'hours', 'expected an integer, got "x"'],
  [
    'GET',
    '/circuit-breakers?state=ajar',
    undefined,
    'state',
    'expected one of closed, open, half_open, got "ajar"',
  ],
  ['GET', '/config/explain', undefined, 'operation', 'expected a string, got nothing'],
  ['GET', '/sessions?nonsense=1', undefined, 'nonsense', 'unknown field "nonsense"'],
  [
    'GET',
    '/dead-letters?status=lost',
    undefined,
    'status',
    'expected one of pending, replaying, completed, failed, got "lost"',
  ],
  ['PUT', '/policies/quick', { max_attempts: 0 }, 'max_attempts', 'expected a number of at least 1, got 0'],
  ['PUT', '/retry/policy', { multiplier: 1 }, 'multiplier', 'expected a number greater than 1, got 1'],
  ['PUT', '/retry/policy', { base_delay: 'x' }, 'base_delay', 'expected a number, got a string'],
  [
    'POST',
    '/pools/proxies/members',
    { url: '' },
    'url',
    'expected a string that is not empty, got an empty string',
  ],
] as const)(
  '%s %s with the body %j reports the expected and the actual value',
  async (method, path, body, field, message) => {
    const { ask } = await open()
    const answer = await ask(method, `/api/v1${path}`, { body })
    expect(answer.status).toBe(400)
    expect(answer.body.details).toMatchObject([{ path: field, message }])
  },
)
