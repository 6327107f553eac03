// The record of a successful attempt of a request had no status.
import { expect, it } from 'vitest'
import { createFetch, StatusError } from '../../src/http/index.js'
import { guard, sessionOf } from '../../src/index.js'

const retry = { maxAttempts: 3, backoffType: 'immediate' } as const

function answering(...statuses: number[]) {
  return async () => new Response(null, { status: statuses.shift() ?? 200 })
}

const statusesOf = (result: unknown) =>
  sessionOf(result)?.attempts.map(({ outcome, statusCode }) => [outcome, statusCode])

it('createFetch records the status of every attempt', async () => {
  const failedOnce = await createFetch({ retry, fetch: answering(503, 404) })('http://a.test/')
  expect(statusesOf(failedOnce)).toEqual([
    ['failure', 503],
    ['success', 404],
  ])
  const first = await createFetch({ retry, fetch: answering(204) })('http://a.test/')
  expect(statusesOf(first)).toEqual([['success', 204]])
})

it('a disabled fetch records the status of its attempt', async () => {
  const response = await createFetch({ enabled: false, fetch: answering(404) })('http://a.test/')
  expect(statusesOf(response)).toEqual([['success', 404]])
})

it('a fetch that throws by status records it once', async () => {
  const fetch = createFetch({ retry, fetch: answering(503, 404), throwOnStatus: true })
  const error = await fetch('http://a.test/').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StatusError)
  expect(statusesOf(error)).toEqual([
    ['failure', 503],
    ['failure', 404],
  ])
})

it('a guard does not take a field of a returned object for the status of a response', async () => {
  const { session } = await guard({ retry }).execute(() => ({ status: 200 }))
  expect(session.attempts[0]).not.toHaveProperty('statusCode')
})
