import type { Holdfast } from '@holdfast/runtime'
import type { StoredBreaker } from '@holdfast/store'
import { beforeEach, describe, expect, it } from 'vitest'
import { Scheduler } from '../src/engine/scheduler.js'
import { SavedBreakerModel } from '../src/invariants/saved-breaker-model.js'
import type { Process } from '../src/process/simulated-node.js'

const row = (id: string, state: string, epoch: number): StoredBreaker =>
  ({ snapshot: { id, state, epoch } }) as StoredBreaker

/** An open breaker. */
const openRow = (fields: object): StoredBreaker =>
  ({
    snapshot: { id: 'service:report', state: 'open', epoch: 1, openDuration: 60_000, ...fields },
  }) as StoredBreaker

describe('saved breakers', () => {
  let scheduler: Scheduler
  let model: SavedBreakerModel
  /** Reports a change of the breaker of an operation. */
  let change: (operation: string) => void

  const start = (
    name: string,
    rows: readonly StoredBreaker[],
    state = 'closed',
    epoch = 0,
    times: object = {},
  ) => {
    const listeners = new Map<string, () => void>()
    change = (operation) => listeners.get(operation)?.()
    const runtime = {
      guard: (operation: string) => ({
        breaker: {
          id: `service:${operation}`,
          currentState: state,
          epoch,
          ...times,
          on: (listener: () => void) => listeners.set(operation, listener),
        },
      }),
      pools: { get: () => ({ on: () => {}, members: () => [] }) },
    }
    model.onLoad(name)(rows)
    const clock = { now: () => 0, wall: () => 1_000_000, wallStepCount: 0 }
    model.onStarted({ name, clock, isAlive: true } as unknown as Process, runtime as unknown as Holdfast)
  }

  beforeEach(() => {
    scheduler = new Scheduler(() => 0)
    model = new SavedBreakerModel(scheduler, () => 'postgres', {
      persists: true,
      poolShare: 'state',
    })
  })

  it('must be loaded as they were acknowledged', () => {
    start('n0.1', [])
    model.onSave('n0.1', [row('service:report', 'open', 1)]).onAcknowledged()
    expect(() => model.onLoad('n0.2')([])).toThrow(
      'saved: n0.2 loaded nothing for service:report, and postgres had acknowledged open in epoch 1',
    )
    model.onLoad('n0.2')([row('service:report', 'open', 1)])
  })

  it('can be loaded as any state that was acknowledged during the load', () => {
    start('n0.1', [])
    model.onSave('n0.1', [row('service:report', 'open', 1)]).onAcknowledged()
    const onLoaded = model.onLoad('n0.2')
    model.onSave('n0.1', [row('service:report', 'closed', 3)]).onAcknowledged()
    model.onSave('n0.1', [row('service:report', 'open', 4)]).onAcknowledged()
    onLoaded([row('service:report', 'closed', 3)])
    expect(() => onLoaded([row('service:report', 'closed', 9)])).toThrow('loaded closed in epoch 9')
  })

  it('must not wait for a save for longer than 10 s, also after a save that failed', () => {
    start('n0.1', [])
    const nodes = [{ process: { name: 'n0.1' } }] as never
    change('report')
    scheduler.now = 9000
    model.checkPassed(nodes)
    const save = model.onSave('n0.1', [row('service:report', 'open', 1)])
    scheduler.now = 30_000
    model.checkPassed(nodes)
    save.onFailed()
    scheduler.now = 39_000
    model.checkPassed(nodes)
    scheduler.now = 41_000
    expect(() => model.checkPassed(nodes)).toThrow(
      'n0.1 has not saved service:report, which changed 11000 ms ago',
    )
  })

  it('must be saved by calls that end', () => {
    start('n0.1', [])
    const nodes = [{ process: { name: 'n0.1' } }] as never
    model.onSave('n0.1', [row('service:report', 'open', 1)])
    scheduler.now = 180_000
    model.checkPassed(nodes)
    scheduler.now = 180_001
    expect(() => model.checkPassed(nodes)).toThrow(
      'hangs: a save of breakers by n0.1 has not ended in 180001 ms',
    )
  })

  it('can be loaded as a save that failed', () => {
    start('n0.1', [])
    model.onSave('n0.1', [row('service:report', 'open', 1)]).onAcknowledged()
    model.onSave('n0.1', [row('service:report', 'closed', 3)]).onFailed()
    model.onLoad('n0.2')([row('service:report', 'open', 1)])
    model.onLoad('n0.3')([row('service:report', 'closed', 3)])
  })

  it('must be restored as they were loaded', () => {
    start('n0.1', [row('service:report', 'half_open', 2)], 'open', 2)
    expect(() => start('n0.2', [row('service:report', 'open', 1)])).toThrow(
      'saved: n0.2 restored service:report as closed in epoch 0, and it was saved as open in epoch 1',
    )
  })

  it('must be loaded with all values that were saved', () => {
    start('n0.1', [])
    const saved = openRow({ failureCount: 5, failureWindow: [999_000, 1, 1, 0], nextTestTime: 1_030_000.4 })
    model.onSave('n0.1', [saved]).onAcknowledged()
    const load = (changes: object) => model.onLoad('n0.2')([openRow({ ...saved.snapshot, ...changes })])
    // The store has seconds.
    load({ nextTestTime: 1_030_000, failureWindow: [999_000.6, 1, 1, 0] })
    expect(() => load({ openDuration: 10_000 })).toThrow(
      'saved: n0.2 loaded open in epoch 1 with openDuration 10000 instead of 60000 for service:report',
    )
    expect(() => load({ epoch: 2 })).toThrow('loaded open in epoch 2 for')
    expect(() => load({ failureCount: 4 })).toThrow('failureCount 4 instead of 5')
    expect(() => load({ failureWindow: [999_000, 1, 0, 0] })).toThrow('failureWindow')
  })

  it('must be restored with the time that is left until the next probe', () => {
    const restore = (openUntil: number, nextTestTime = 1_030_000) =>
      start('n0.1', [openRow({ nextTestTime })], 'open', 1, { openUntil, openDuration: 60_000 })
    restore(30_000)
    for (const wrong of [0, 20_000, 60_000])
      expect(() => restore(wrong)).toThrow(
        `saved: n0.1 restored service:report with ${wrong} ms until its next probe, expected 29999 to 30001 ms`,
      )
    // The wall time was set back after the save.
    restore(60_000, 1_090_000)
  })

  it('must be saved again after a save that failed', () => {
    start('n0.1', [])
    change('report')
    model.onSave('n0.1', [row('service:report', 'open', 1)]).onFailed()
    change('mail')
    expect(() => model.onSave('n0.1', [row('service:mail', 'open', 1)])).toThrow(
      'saved: n0.1 saved service:mail without service:report, which changed',
    )
  })

  it('must be saved by a close, unless its save fails', () => {
    start('n0.1', [])
    change('report')
    model.onClosing('n0.1')
    expect(() => model.onClosed('n0.1')).toThrow('saved: n0.1 has closed without a save of service:report')
    model.onSave('n0.1', [row('service:report', 'open', 1)]).onFailed()
    model.onClosed('n0.1')
  })
})
