import type { DeadLetterStore } from '@holdfast/store'
import { expect, it } from 'vitest'
import { QueueContract } from '../src/dead-letters/queue-contract.js'
import { Choices } from '../src/engine/seeded-random.js'

it('reports a call of a queue that does not end', async () => {
  const contract = new QueueContract('n1', new Choices(1), true)
  const queue = { add: () => new Promise(() => {}) } as unknown as DeadLetterStore
  const check = (fn: () => void) => fn()
  void contract.step(queue, 0, check)
  for (let step = 0; step < 30; step++) await contract.step(queue, 0, check)
  await expect(contract.step(queue, 0, check)).rejects.toThrow(
    'hangs: a call of the queue of n1 has not ended in 31 steps',
  )
})
