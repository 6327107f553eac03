import type { DeadLetter } from '@holdfast/records'
import { beforeEach, describe, expect, it } from 'vitest'
import { OwnQueueModel } from '../src/dead-letters/own-queue-model.js'

class TestQueueModel extends OwnQueueModel {
  protected readonly isDurable = false
  stored: Partial<DeadLetter> | undefined

  protected read(): DeadLetter | undefined {
    return this.stored as DeadLetter | undefined
  }

  protected readAll(): DeadLetter[] {
    return []
  }
}

const at = (ms: number) => new Date(ms)

describe('the model of the queue of one node', () => {
  let model: TestQueueModel

  /** A call with a result, or one that fails if there is none. */
  const call = (method: string, args: readonly unknown[], result?: { readonly value: unknown }) => {
    model.onCalled(method, args)
    if (result !== undefined) model.onResolved('n1.1', method, args, result.value)
  }
  const lease = (owner: string, until: number, result: unknown = { result: 'leased' }) =>
    call('lease', ['a', owner, at(until), at(0)], { value: result })
  const renew = (owner: string, until: number, now: number) =>
    call('renew', ['a', owner, at(until), at(now)], { value: true })
  const settle = (owner: string, status: string, now: number, value: unknown = {}) =>
    call('settle', ['a', owner, { status, at: at(now) }], { value })

  beforeEach(() => {
    model = new TestQueueModel()
  })

  it('finds a settlement and a renewal by a process that does not hold the lease', () => {
    lease('first', 100)
    renew('first', 200, 50)
    expect(() => renew('second', 300, 60)).toThrow('lease: second renewed the lease of a without holding it')
    expect(() => settle('second', 'failed', 60)).toThrow(
      'second settled a as failed without holding the lease',
    )
    settle('first', 'failed', 150)
    expect(() => settle('first', 'failed', 150)).toThrow(
      'first settled a as failed without holding the lease',
    )
  })

  it('finds a settlement and a renewal after the end of the lease', () => {
    lease('first', 100)
    expect(() => renew('first', 200, 100)).toThrow('first renewed the lease of a without holding it')
    expect(() => settle('first', 'pending', 100)).toThrow(
      'first settled a as pending without holding the lease',
    )
  })

  it('accepts the owner of a call without a result, until its process has ended', () => {
    call('leaseNext', [{}, 'first', at(100), at(0)])
    renew('first', 200, 50)
    call('renew', ['a', 'first', at(300), at(150)])
    settle('first', 'failed', 250)
    call('leaseNext', [{}, 'second', at(400), at(0)])
    model.onProcessEnded()
    expect(() => renew('second', 500, 300)).toThrow('second renewed the lease of a without holding it')
  })

  it('does not accept the owner of a request for a lease that was rejected', () => {
    lease('first', 100, { result: 'held', until: at(500) })
    expect(() => renew('first', 200, 50)).toThrow('first renewed the lease of a without holding it')
  })

  it('finds a replay that is completed and not reported, also if the result of its settlement was lost', () => {
    const complete = (value: unknown) => {
      lease('first', 100)
      model.onHandlerEnded(model.onHandlerStarted('a', 'n1.1'), false)
      model.stored = { status: 'completed', originalPayload: {} }
      settle('first', 'completed', 50, value)
    }
    complete({})
    model.checkReported()
    model.onReplayReported('a')
    model.checkReported()
    model = new TestQueueModel()
    complete(undefined)
    model.checkReported()
    expect(() => model.checkAllReported()).toThrow('completed: a replay has completed a')
    expect(() => model.checkReported()).toThrow(
      'completed: a replay has completed a, and its process has not reported it',
    )
  })
})
