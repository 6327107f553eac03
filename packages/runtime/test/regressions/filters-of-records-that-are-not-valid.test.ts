import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it.each([
  ['from', 'yesterday'],
  ['to', new Date(Number.NaN)],
  ['operation', 5],
  ['limit', 0],
  ['order', 'up'],
  ['cursor', 5],
])('records: list methods reject a filter that is not valid: %s %s', async (field, value) => {
  const { hf } = await start(QUICK)
  const filter = { [field]: value } as never
  for (const list of [
    () => hf.sessions.list(filter),
    () => hf.sessions.list({ ...(filter as object), active: true }),
    () => hf.events.list(filter),
    () => hf.errors.list(filter),
    () => hf.audit.list(filter),
    () => hf.breakers.events(filter),
  ])
    await expect(list()).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining(`${field}: `),
    })
})
