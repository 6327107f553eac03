import { expect, it } from 'vitest'
import { guard, type Outcome } from '../../src/index.js'

it('retryIf is called for every failed attempt, also with errors that are retried anyway', async () => {
  const seen: Outcome[] = []
  const error = new Error('down')
  const kept = guard({
    retry: {
      maxAttempts: 2,
      backoffType: 'immediate',
      retryIf: (outcome) => {
        seen.push(outcome)
        return true
      },
    },
  })
  await expect(
    kept.run(() => {
      throw error
    }),
  ).rejects.toBe(error)
  expect(seen).toEqual([
    { error, attempt: 1 },
    { error, attempt: 2 },
  ])
})
