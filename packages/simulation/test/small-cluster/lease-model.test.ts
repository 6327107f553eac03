import { beforeEach, describe, expect, it } from 'vitest'
import { START_WALL_MS } from '../../src/engine/virtual-clock.js'
import { LeaseModel } from '../../src/small-cluster/lease-model.js'

const entry = { dlqId: 'd1', operationType: 'slow' }
let now: number
let model: LeaseModel

const until = () => new Date(START_WALL_MS + now + 300_000)
const lease = (process: string, owner: string) =>
  model.onExecuted(
    { process, method: 'deadLetters.lease', args: ['d1', owner, until()] },
    { result: 'leased', entry },
  )
const settleCall = (owner: string, status: string) => ({
  process: 'n1.1',
  method: 'deadLetters.settle',
  args: ['d1', owner, { status, at: until() }],
})

beforeEach(() => {
  now = 1000
  model = new LeaseModel(
    () => now,
    () => true,
  )
})

describe('the model of leases', () => {
  it('finds a handler without a lease', () => {
    lease('n2.1', 'o2')
    expect(() => model.onHandlerStarted('n1.1', 'd1')).toThrow(
      'n1.1 replays d1 without a lease: n2.1 holds it',
    )
  })

  it('finds a lease that is not renewed while its handler runs', () => {
    lease('n1.1', 'o1')
    model.onHandlerStarted('n1.1', 'd1')
    now += 100_000
    expect(() => model.check()).not.toThrow()
    now += 20_000
    expect(() => model.check()).toThrow('n1.1 renews the lease of d1 too late')
  })

  it('accepts one failed renewal', () => {
    lease('n1.1', 'o1')
    model.onHandlerStarted('n1.1', 'd1')
    model.onReplied({ process: 'n1.1', method: 'deadLetters.renew', args: ['d1', 'o1'] }, true, undefined)
    now += 190_000
    expect(() => model.check()).not.toThrow()
  })

  it('finds a lease that is neither used nor released', () => {
    lease('n1.1', 'o1')
    now += 20_000
    expect(() => model.check()).toThrow('n1.1 holds the lease of d1 for 20000 ms without a handler')
  })

  it('finds a settlement that is repeated after the store has replied, or has another result than the handler', () => {
    lease('n1.1', 'o1')
    model.onHandlerEnded(model.onHandlerStarted('n1.1', 'd1'), 'succeeded')
    expect(() => model.onCalled(settleCall('o1', 'failed'))).toThrow('expected completed after succeeded')
    model.onReplied(settleCall('o1', 'completed'), false, entry)
    expect(() => model.onCalled(settleCall('o1', 'completed'))).toThrow('settled d1 again')
  })

  it('finds a success that is not stored, and a handler that repeats it', () => {
    lease('n1.1', 'o1')
    model.onHandlerEnded(model.onHandlerStarted('n1.1', 'd1'), 'succeeded')
    now += 25_000
    expect(() => model.check()).toThrow()
    now += 400_000
    lease('n2.1', 'o2')
    expect(() => model.onHandlerStarted('n2.1', 'd1')).toThrow('replays d1 again after its handler succeeded')
  })

  it('finds a lease that is acquired again after its handler has ended', () => {
    lease('n1.1', 'o1')
    const run = model.onHandlerStarted('n1.1', 'd1')
    now += 301_000
    model.onHandlerEnded(run, 'failed')
    lease('n1.1', 'o1')
    now += 25_000
    expect(() => model.check()).toThrow('n1.1 holds the lease of d1 for 25000 ms without a handler')
  })

  it('finds an unused lease that the process acquired again with a lost reply while its handler ran', () => {
    lease('n1.1', 'o1')
    const run = model.onHandlerStarted('n1.1', 'd1')
    now += 300_001
    lease('n1.1', 'o1')
    model.onReplied({ process: 'n1.1', method: 'deadLetters.lease', args: ['d1', 'o1'] }, true, undefined)
    model.onHandlerEnded(run, 'failed')
    now += 25_000
    expect(() => model.check()).toThrow('n1.1 holds the lease of d1 for 25000 ms without a handler')
  })

  it('accepts an unused lease whose acquisition the process does not know of', () => {
    lease('n1.1', 'o1')
    model.onReplied({ process: 'n1.1', method: 'deadLetters.lease', args: ['d1', 'o1'] }, true, undefined)
    now += 25_000
    expect(() => model.check()).not.toThrow()
  })

  it('finds a replay that a process regards as running after its handler has ended', () => {
    lease('n1.1', 'o1')
    const run = model.onHandlerStarted('n1.1', 'd1')
    const check = () => model.checkRunning('n1.1', new Set(['d1']))
    check()
    now += 30_000
    expect(check).not.toThrow()
    model.onHandlerEnded(run, 'failed')
    check()
    now += 25_000
    expect(check).toThrow('n1.1 regards d1 as being replayed, and no handler of it has run for 25000 ms')
    expect(() => model.checkRunning('n1.1', new Set())).not.toThrow()
    expect(check).not.toThrow()
  })

  it('accepts that a handler runs again if the store has rejected its result', () => {
    lease('n1.1', 'o1')
    model.onHandlerEnded(model.onHandlerStarted('n1.1', 'd1'), 'succeeded')
    model.onRejected(settleCall('o1', 'completed'))
    now += 301_000
    expect(() => model.check()).not.toThrow()
    lease('n2.1', 'o2')
    expect(() => model.onHandlerStarted('n2.1', 'd1')).not.toThrow()
  })

  it('finds a closed process that still holds a lease, unless the release failed', () => {
    lease('n1.1', 'o1')
    expect(() => model.checkReleased('n1.1')).toThrow('n1.1 still holds the lease of d1')
    model.onReplied(settleCall('o1', 'pending'), true, undefined)
    expect(() => model.checkReleased('n1.1')).not.toThrow()
  })
})
