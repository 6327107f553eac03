// The session of a request had no status for the attempt that succeeded.
import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

it('a session of hf.createFetch has the status of every attempt', async () => {
  const { hf } = await start({ policies: { api: { maxAttempts: 3, backoffType: 'immediate' } } })
  const statuses = [503, 404]
  const fetch = async () => new Response('', { status: statuses.shift() ?? 200 })
  await hf.createFetch('api', { fetch })('http://a.test/')
  const { items } = await hf.sessions.list()
  expect(items[0]?.attempts.map(({ outcome, statusCode }) => [outcome, statusCode])).toEqual([
    ['failure', 503],
    ['success', 404],
  ])
})
