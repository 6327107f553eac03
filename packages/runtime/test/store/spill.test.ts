import { readdir } from 'node:fs/promises'
import { fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import type { DeadLetter } from '../../src/records/dead-letter.js'
import { Spill } from '../../src/store/postgres/spill.js'
import { letter } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

it('a spill moves what came while it was moving what came before', async () => {
  const clock = fakeClock()
  const moved: string[] = []
  let asked = () => {}
  let answer = () => {}
  const begun = new Promise<void>((resolve) => {
    asked = resolve
  })
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const target = {
    isProcessed: async () => false,
    add: async (entries: readonly DeadLetter[]) => {
      asked()
      await answered
      moved.push(...entries.map(({ dlqId }) => dlqId))
      return entries.map((entry) => ({ result: 'added' as const, entry }))
    },
  }
  const spill = new Spill({ dir: await tempFolder(), target, clock, warn: () => {} })
  onTestFinished(() => spill.close())
  await spill.keep([letter(1)], NO_LIMIT)
  await clock.advance(250)
  await begun
  await spill.keep([letter(2)], NO_LIMIT)
  // It is time to move, and the database has not answered yet.
  await clock.advance(250)
  answer()
  for (let turn = 0; turn < 500 && moved.length < 2; turn++) {
    await readdir('.')
    await clock.advance(250)
  }
  expect(moved).toEqual(['dlq_1', 'dlq_2'])
})
