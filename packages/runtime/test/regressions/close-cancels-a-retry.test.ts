import { expect, it } from 'vitest'
import { ActiveCalls } from '../../src/observation/active-calls.js'
import type { ActiveCall } from '../../src/observation/observed-call.js'

const createCall = () => ({}) as ActiveCall

// The last call was cancelled by a close if its first attempt failed, because it was replaced by one that can retry.
it('is not idle while a call is replaced by another one in the same turn', async () => {
  const calls = new ActiveCalls()
  const [first, second] = [createCall(), createCall()]
  calls.add(first)
  let isIdle = false
  const idle = calls.whenIdle().then(() => {
    isIdle = true
  })
  calls.remove(first)
  calls.add(second)
  for (let turn = 0; turn < 5; turn++) await Promise.resolve()
  expect(isIdle).toBe(false)
  calls.remove(second)
  await idle
})
