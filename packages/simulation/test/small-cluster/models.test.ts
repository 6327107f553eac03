import { KeyRing } from '@holdfast/store'
import { describe, expect, it } from 'vitest'
import { BatchModel } from '../../src/small-cluster/batch-model.js'
import { LayerModel } from '../../src/small-cluster/layer-model.js'
import { PeriodicModel } from '../../src/small-cluster/periodic-model.js'
import { QueueModel } from '../../src/small-cluster/queue-model.js'
import { RequestModel } from '../../src/small-cluster/request-model.js'
import { ResultModel } from '../../src/small-cluster/result-model.js'

const createLayerModel = () =>
  new LayerModel(
    () => 0,
    (layer) => layer as never,
  )
const append = (by: string, after: number, layer: object) => ({
  process: 'n1.1',
  method: 'layers.append',
  args: [{ by, layer }, after],
})

describe('the model of live changes', () => {
  const policies = { p0: { max_attempts: 2 }, p1: { max_attempts: 3 } }

  it('finds a change that overwrites another one', () => {
    const model = createLayerModel()
    model.onStarted('n1.1', 'first', { kind: 'policy', id: 'p0', fields: { max_attempts: 2 } })
    model.onStarted('n2.1', 'second', { kind: 'policy', id: 'p1', fields: { max_attempts: 3 } })
    model.onExecuted(append('first', 0, { policies: { p0: policies.p0 } }), true)
    expect(() => model.onExecuted(append('second', 1, { policies: { p1: policies.p1 } }), true)).toThrow(
      'a change of policy p1 also changed policy p0',
    )
  })

  it('finds a change that was acknowledged and not stored, stored twice, or rejected and stored', () => {
    const model = createLayerModel()
    model.onStarted('n1.1', 'a', { kind: 'all' })
    expect(() => model.onAcknowledged('a', {} as never)).toThrow('the history does not have it')
    model.onExecuted(append('a', 0, {}), true)
    expect(() => model.onFailed('a', { code: 'CONFIG_INVALID' })).toThrow('rejected with CONFIG_INVALID')
    expect(() => model.onExecuted(append('a', 1, {}), true)).toThrow('as versions 1 and 2')
  })

  it('finds a process that does not have the newest layer', () => {
    const model = createLayerModel()
    const runtime = { config: { layer: { policies } } } as never
    expect(() => model.checkKnown('n1.1', runtime)).toThrow('n1.1 has none of the layers')
  })
})

describe('the model of batches', () => {
  const plan = {
    operation: undefined,
    limit: undefined,
    concurrency: 1,
    rate: undefined,
    retryFailed: false,
    hasIds: false,
    handled: [],
  }
  const lease = { process: 'n1.1', kind: 'batch' } as never

  it('finds a result that differs from what was stored', () => {
    const model = new BatchModel('n1.1', plan, () => 0)
    expect(() => model.onResult({ succeeded: 1, failed: 0, skipped: 0 }, [])).toThrow(
      'reports 1 succeeded, expected 0',
    )
  })

  it('finds a batch that replays and requests more entries than its limit together', () => {
    const model = new BatchModel('n1.1', { ...plan, limit: 2 }, () => 0)
    const request = (id: string) =>
      model.onExecuted({ process: 'n1.1', method: 'deadLetters.request', args: [id] }, { dlqId: id })
    const leaseNext = { process: 'n1.1', method: 'deadLetters.leaseNext', args: [{}, 'owner'] }
    model.onExecuted(leaseNext, [{ dlqId: 'a' }])
    const settle = {
      process: 'n1.1',
      method: 'deadLetters.settle',
      args: ['a', 'owner', { status: 'failed' }],
    }
    model.onExecuted(settle, { dlqId: 'a' })
    request('b')
    request('b')
    expect(() => request('c')).toThrow('has replayed 1 entries and requested 2, expected at most 2 together')
  })

  it('finds too many handlers, and handlers after an abort', () => {
    const model = new BatchModel('n1.1', plan, () => 0)
    model.onHandlerStarted(lease)
    expect(() => model.onHandlerStarted(lease)).toThrow('runs 2 handlers, expected at most 1')
    model.stop()
    expect(() => model.onHandlerStarted(lease)).toThrow('started a handler after it was stopped')
  })
})

describe('the model of the queue', () => {
  const add = (id: string, key: string) => ({
    dlqId: id,
    idempotencyKey: key,
    operationType: 'fast',
    originalPayload: 1,
  })
  const call = (entry: object) => ({
    process: 'n1.1',
    method: 'deadLetters.add',
    args: [[entry], { maxEntries: 9 }],
  })

  it('finds two entries with one key, and an item that was rejected without a reason', () => {
    const model = new QueueModel(9, new KeyRing(undefined))
    const entry = add('d1', 'k')
    model.onExecuted(call(entry), [{ result: 'added', entry }])
    const other = add('d2', 'k')
    expect(() => model.onExecuted(call(other), [{ result: 'added', entry: other }])).toThrow('two entries')
    expect(() => model.onRejected('k', 1, 'DEAD_LETTERS_FULL', false)).toThrow('was rejected with')
  })

  it('finds a stored entry that no event reports', () => {
    const model = new QueueModel(9, new KeyRing(undefined))
    const [reported, other] = [add('d1', 'k'), add('d2', 'l')] as const
    for (const entry of [reported, other]) model.onExecuted(call(entry), [{ result: 'added', entry }])
    model.onInsertReplied('n1.1', [reported, other, add('d3', 'm')] as never, 5)
    model.onEnqueuedEvent('d1')
    expect(() => model.checkReported('n1.1', 5)).not.toThrow()
    expect(() => model.checkReported('n1.1', 6)).toThrow('n1.1 has stored d2, and no event reports it')
    expect(() => model.checkReported('n2.1', 6)).not.toThrow()
  })

  it('finds a second warning about the same condition', () => {
    const model = new QueueModel(9, new KeyRing(undefined))
    model.onWarning('n1.1', 8)
    expect(() => model.onWarning('n1.1', 9)).toThrow('n1.1 warned again')
  })
})

it('a result that is stored and not reported is found', () => {
  const model = new ResultModel(() => 5)
  model.onStored('n1.1', 'd1', 'completed')
  expect(() => model.checkReported('n1.1', 10)).toThrow(
    'n1.1 d1 completed was stored 1 times and reported 0 times',
  )
})

it('a periodic task that ends and a call after the close are found', () => {
  let now = 0
  const model = new PeriodicModel(() => now)
  model.onStarted('n1.1')
  now = 100_000
  expect(() => model.check('n1.1')).toThrow('n1.1 has not called')
  model.onClosed('n1.1')
  expect(() => model.onCalled({ process: 'n1.1', method: 'layers.latest', args: [] })).toThrow(
    'after its close',
  )
})

it('a worker that does not look for a request after a notification is found', () => {
  let now = 0
  const leases = { workerRuns: new Map(), leases: new Map(), runs: new Map() }
  const model = new RequestModel({} as never, leases as never, () => now)
  model.onNotified('n1.1')
  now = 5000
  expect(() => model.checkNotified(() => true)).not.toThrow()
  now = 7000
  expect(() => model.checkNotified(() => true)).toThrow('n1.1 was notified of a request 7000 ms ago')
})

describe('the model of requests', () => {
  const entry = { id: 'd1', isRequested: true, isCompleted: false }
  const check = (operation: string, workers: readonly string[], runs = new Map()) => {
    const leases = { workerRuns: new Map(), leases: new Map(), runs, isHeld: () => false }
    const queue = { entries: new Map([['d1', { ...entry, operation }]]) }
    const model = new RequestModel(queue as never, leases as never, () => 0)
    for (let ms = 0; ms <= 60_000; ms += 4000) model.check(workers, 4000)
  }

  it('finds a request that no free worker serves', () => {
    expect(() => check('fast', ['n2.1'])).toThrow('d1 was requested, and no worker has leased it')
    expect(() => check('fast', [])).not.toThrow()
  })

  it('counts the time of a request that only one process serves while that process runs', () => {
    expect(() => check('sole', ['n2.1'])).not.toThrow()
    expect(() => check('sole', ['n1.1', 'n2.1'])).toThrow('d1 was requested, and no worker has leased it')
  })

  it('accepts that an entry is not leased while its handler still runs after the end of its lease', () => {
    expect(() => check('sole', ['n1.1'], new Map([['d1', {}]]))).not.toThrow()
  })
})
