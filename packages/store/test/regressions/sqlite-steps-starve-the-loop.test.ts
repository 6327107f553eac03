import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { WriteQueue } from '../../src/sqlite/write-queue.js'
import { folder } from '../sqlite-place.js'

it('gives other work a turn between the transactions of a call of many steps', async () => {
  const writes = new WriteQueue(join(await folder(), 'holdfast.db'), { lockTimeout: 10_000 })
  await writes.open()
  onTestFinished(() => writes.close())
  let turns = 0
  let isDone = false
  const countTurn = () => {
    turns++
    if (!isDone) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  for (let step = 0; step < 50; step++) await writes.writeUnflushed(() => {})
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(49)
})
