import { describe, expect, it } from 'vitest'
import { BudgetModel } from '../src/policies/budget-model.js'
import { BulkheadModel, type BulkheadUser } from '../src/policies/bulkhead-model.js'
import { CallReference } from '../src/policies/call-reference.js'
import { CONTRACT_POLICIES, type ContractPolicy } from '../src/policies/contract-policies.js'
import { delayRangeOf } from '../src/policies/delay-range.js'
import { BreakerTimes } from '../src/policies/hedge-reference.js'
import type { PlannedContractCall, PlannedRun } from '../src/policies/planned-contract-calls.js'
import { ShedContract } from '../src/policies/shed-contract.js'
import { ShedModel } from '../src/policies/shed-model.js'

const RUN: PlannedRun = { ms: 10, end: 'error', retryAfter: 0, ignoresSignal: false }

const CALL: PlannedContractCall = {
  operation: 'contract-plain',
  afterMs: 0,
  runs: [RUN],
  retry: undefined,
  timeout: undefined,
  hasSignal: false,
  abortAfterMs: undefined,
  cancelAfterMs: undefined,
  beforeRetry: undefined,
  fallback: undefined,
}

/** A call on a clock that the test sets. */
function createCall(
  planned: Partial<PlannedContractCall> = {},
  policy: Partial<ContractPolicy> = {},
  breaker?: BreakerTimes,
) {
  const clock = { time: 0, now: () => clock.time, toleranceMs: () => 0.1 }
  const policies = { default: { ...CONTRACT_POLICIES['contract-plain'], ...policy }, limited: undefined }
  const limits = { bulkhead: undefined, budget: undefined, breaker }
  const call = new CallReference('a call', { ...CALL, ...planned }, policies, limits, clock)
  return { call, clock }
}

describe('the reference of a call', () => {
  it('requires that the function is called at once', () => {
    const { call } = createCall()
    expect(() => call.onSubmitted()).toThrow('policies: a call did not call its function')
  })

  it('requires a delay in the range of the policy, and the next attempt exactly after it', () => {
    const { call, clock } = createCall()
    call.onRunEnded(call.onRunStarted(1))
    expect(() => call.onRetryScheduled(2, 201)).toThrow(
      'waits for 201 ms before attempt 2, expected 100 to 200',
    )
    call.onRetryScheduled(2, 150)
    clock.time = 149
    expect(() => call.onRunStarted(2)).toThrow('began attempt 2 after 149 ms, expected 150 ms')
    clock.time = 150
    call.onRunStarted(2)
  })

  it('requires that an attempt is aborted exactly at its timeout', () => {
    const { call, clock } = createCall()
    const run = call.onRunStarted(1)
    clock.time = 905
    expect(() => call.onRunAborted(run)).toThrow('aborted attempt 1 after 905 ms, expected 900 ms')
    run.isAborted = false
    expect(() => call.onRunEnded(run)).toThrow('attempt 1 ran for 905 ms without a timeout')
  })

  it('accepts no attempt after the end', () => {
    const { call } = createCall({ runs: [{ ...RUN, end: 'value' }] })
    const run = call.onRunStarted(1)
    call.onRunEnded(run)
    call.onSettled({ value: run.value })
    expect(() => call.onRunStarted(2)).toThrow('called its function (attempt 2) after it had ended')
  })

  it('requires that an open breaker prevents a retry at once, and after the delay if it opened meanwhile', () => {
    const breaker = new BreakerTimes()
    const atOnce = createCall({}, {}, breaker).call
    const run = atOnce.onRunStarted(1)
    breaker.onOpened(0)
    atOnce.onRunEnded(run)
    expect(() => atOnce.onEndReported(false, 'budget_spent')).toThrow(
      'ended as budget_spent while it was failed, expected circuit_open',
    )
    atOnce.onEndReported(false, 'circuit_open')
    breaker.onClosed(0)
    const { call, clock } = createCall({}, {}, breaker)
    call.onRunEnded(call.onRunStarted(1))
    call.onRetryScheduled(2, 150)
    breaker.onOpened(0)
    expect(() => call.onEndReported(false, 'circuit_open')).toThrow(
      'ended as circuit_open while it was waiting',
    )
    clock.time = 150
    expect(() => call.onRunStarted(2)).toThrow('began attempt 2 while its breaker was open')
    call.onEndReported(false, 'circuit_open')
  })

  it('accepts no late result', () => {
    const { call, clock } = createCall({ runs: [RUN, { ...RUN, end: 'value' }] })
    const late = call.onRunStarted(1)
    clock.time = 900
    call.onRunAborted(late)
    call.onRetryScheduled(2, 200)
    clock.time = 1100
    call.onRunStarted(2)
    call.onRunEnded(late)
    expect(() => call.onSettled({ value: late.value })).toThrow('events about its end, expected 1')
  })

  it('requires one event about the end of a call that failed, with the reason', () => {
    const { call } = createCall({ runs: [{ ...RUN, end: 'permanent' }] })
    const run = call.onRunStarted(1)
    call.onRunEnded(run)
    expect(() => call.onEndReported(false, 'deadline')).toThrow(
      'ended as deadline while it was failed, expected not_retryable',
    )
    expect(() => call.onSettled({ error: new Error('another') })).toThrow('settled with the error  another')
  })

  it('requires that a hedge takes a retry of its budget, and that its breaker is closed', () => {
    const clock = { time: 0, now: () => clock.time, toleranceMs: () => 0.1 }
    const breaker = new BreakerTimes()
    const budget = new BudgetModel({ ratio: 0, reservePerSecond: 0.1, window: 20_000 })
    const policies = { default: CONTRACT_POLICIES['contract-guarded'], limited: undefined }
    const limits = { bulkhead: undefined, budget, breaker }
    const planned = { ...CALL, operation: 'contract-guarded', runs: [{ ...RUN, ms: 800 }] } as const
    const call = new CallReference('a call', planned, policies, limits, clock)
    call.onRunStarted(1)
    breaker.onOpened(50)
    clock.time = 90
    expect(() => call.onRunStarted(1)).toThrow('began a hedge while its breaker was open')
    breaker.onClosed(120)
    clock.time = 180
    call.onRunStarted(1)
    expect(budget.left(180)).toBe(1)
    clock.time = 270
    const last = call.onRunStarted(1)
    clock.time = 360
    expect(() => call.onRunStarted(1)).toThrow('began a hedge, and its budget had no retry left')
    clock.time = 500
    call.onRunEnded(last)
    expect(call.state).toBe('running')
  })

  it('requires a hedge after its delay, and not before', () => {
    const { call, clock } = createCall(
      { runs: [{ ...RUN, end: 'value' }] },
      { hedge: { delay: 100, max: 1 } },
    )
    const first = call.onRunStarted(1)
    clock.time = 50
    expect(() => call.onRunStarted(1)).toThrow('began a hedge after 50 ms, expected 100 ms')
    clock.time = 120
    expect(() => call.onRunEnded(first)).toThrow('did not begin a hedge 20 ms ago')
  })
})

describe('the model of a bulkhead', () => {
  const createUser = (name: string) => ({ name, submittedAt: 0, isDone: false, canBeDone: false })
  const createBulkhead = () => new BulkheadModel('a', { limit: 1, queue: 1, maxWait: 100 })
  const submit = (bulkhead: BulkheadModel, ...users: BulkheadUser[]) => {
    for (const user of users) bulkhead.onSubmitted(user)
  }

  it('requires that a free slot is given to the call that waits', () => {
    const bulkhead = createBulkhead()
    const [first, second] = [createUser('first'), createUser('second')]
    submit(bulkhead, first)
    bulkhead.onStarted(first)
    submit(bulkhead, second)
    bulkhead.checkSlots()
    expect(() => bulkhead.onStarted(second)).toThrow('gave second a slot, and 1 calls have one')
    first.isDone = true
    expect(() => bulkhead.checkSlots()).toThrow('has a free slot, and second waits')
  })

  it('rejects a call if its queue is full, or after the longest wait', () => {
    const bulkhead = createBulkhead()
    const [first, second, third] = [createUser('first'), createUser('second'), createUser('third')]
    submit(bulkhead, first)
    bulkhead.onStarted(first)
    submit(bulkhead, second, third)
    bulkhead.onRejected(third, 0, 0.1)
    expect(() => bulkhead.onRejected(second, 99, 0.1)).toThrow('rejected second after 99 ms, expected 100 ms')
  })
})

describe('the other models of policies', () => {
  it('counts the retries that a budget has left', () => {
    const budget = new BudgetModel({ ratio: 0.5, reservePerSecond: 0, window: 1000 })
    budget.countCall(0)
    expect(budget.withdraw(1)).toBe(false)
    budget.countCall(1)
    expect(budget.withdraw(2)).toBe(true)
    expect(budget.withdraw(3)).toBe(false)
    budget.refund(4)
    expect(budget.withdraw(5)).toBe(true)
    expect(budget.withdraw(1010)).toBe(false)
  })

  it('limits delays by the maximum', () => {
    const policy: ContractPolicy = { ...CONTRACT_POLICIES['contract-plain'], jitterType: 'none' }
    expect([1, 2, 3, 4].map((n) => delayRangeOf(policy, n, 0).max)).toEqual([200, 400, 800, 1500])
  })

  it('requires records and counters of rejected calls for each reason', () => {
    const clock = { time: 0, now: () => clock.time }
    const listeners = new Map<string, (event: object) => void>()
    const rejections = new Map([['circuit_open', 1]])
    const runtime = {
      events: { on: (type: string, listener: (event: object) => void) => listeners.set(type, listener) },
      metrics: { counters: () => ({ operations: { find: () => ({ rejections }) } }) },
    }
    const contract = new ShedContract({ name: 'n0.1', isAlive: true, clock } as never, runtime as never, {
      scheduler: undefined as never,
      breakers: [],
      check: (fn) => fn(),
      onActive: () => {},
    })
    contract.onRejected('contract-shed', 'bulkhead_full', true)
    contract.onRejected('contract-shed', 'bulkhead_full', false)
    expect(() => contract.onRejected('contract-shed', 'circuit_open', false)).toThrow(
      'contract-shed (circuit_open) of n0.1 did not record a rejected call',
    )
    contract.onRejected('contract-shed', 'circuit_open', true)
    clock.time = 1000
    const report = (reason: string, count: number) =>
      listeners.get('calls_shed')?.({ operation: 'contract-shed', context: { reason, count } })
    expect(() => report('bulkhead_full', 3)).toThrow('reported 3 rejected calls, expected 2')
    report('bulkhead_full', 2)
    expect(() => contract.checkReported(1000)).toThrow(
      'n0.1 counted 1 calls of contract.shed rejected with circuit_open, expected 0',
    )
  })

  it('requires one record of rejected calls in a period, and their number at its end', () => {
    const shed = new ShedModel('a')
    expect(() => shed.onRejected(false, 0, 0.1)).toThrow('did not record a rejected call')
    shed.onRejected(true, 0, 0.1)
    shed.onRejected(false, 500, 0.1)
    expect(() => shed.onRejected(true, 600, 0.1)).toThrow('recorded two rejected calls in one period')
    expect(() => shed.onReported(3, 1000, 0.1, false)).toThrow('reported 3 rejected calls, expected 2')
    expect(() => shed.checkReported(1001, 0.1)).toThrow('did not report 2 rejected calls')
  })
})
