import { expect, it } from 'vitest'
import { memoryStore } from '../../src/memory/index.js'
import { at, letter } from '../contract/records.js'

// Each failed replay added its error with its stack to the entry, which was written again as a whole. An entry that was replayed every
// minute grew without a limit.

it('a dead letter keeps its first error and those of the newest 100 failed replays', async () => {
  const { deadLetters } = memoryStore()
  const added = letter(1)
  await deadLetters.add([added], { maxEntries: 10 })
  for (let i = 1; i <= 150; i++) {
    await deadLetters.lease('dlq_1', 'me', at(i + 1), at(i))
    const error = { ...added.errorDetails, errorMessage: `replay ${i}` }
    await deadLetters.settle('dlq_1', 'me', { status: 'failed', at: at(i), error })
  }
  const { errorDetails } = (await deadLetters.get('dlq_1', at(200))) ?? {}
  expect(errorDetails?.errorMessage).toBe(added.errorDetails.errorMessage)
  expect(errorDetails?.history?.map(({ errorMessage }) => errorMessage)).toEqual(
    Array.from({ length: 100 }, (_, i) => `replay ${i + 51}`),
  )
})
