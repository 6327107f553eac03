import type { Holdfast } from '@holdfast/runtime'
import type { CircuitBreaker } from 'holdfast'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'
import { OPERATIONS } from '../scenario/scenario.js'
import { NaiveBreaker, type NaivePermit } from './naive-breaker.js'

type Permit = Parameters<CircuitBreaker['tryAcquire']>[0]

/** Compared after every call of a method. */
const FIELDS = [
  'state',
  'epoch',
  'failures',
  'openUntil',
  'openDuration',
  'tripDuration',
  'consecutiveOpens',
  'probeSuccesses',
  'isDisabled',
] as const

/**
 * The promise that each breaker of an operation does what a naive one does: after every admission, result, command and state of the
 * fleet both have the same state. The decisions of the fleet about probes are taken over.
 */
export class NaiveBreakerModel {
  comparisonCount = 0
  private readonly check: (fn: () => void) => void

  constructor(check: (fn: () => void) => void) {
    this.check = check
  }

  onStarted(process: Process, runtime: Holdfast): void {
    for (const operation of OPERATIONS) {
      const { breaker } = runtime.guard(operation)
      if (breaker !== undefined) this.watch(process, breaker)
    }
  }

  /** Compares a breaker with a naive one from now on. */
  watch(process: Pick<Process, 'name' | 'clock' | 'isAlive'>, breaker: CircuitBreaker): void {
    const naive = new NaiveBreaker(() => breaker.settings)
    const clock = () => process.clock.now()
    naive.copyFrom(breaker, clock())
    /** Calls of the breaker's methods that have not returned: a method can call another one. */
    let depth = 0
    let isRecorded = false
    const permits = new WeakMap<object, NaivePermit>()

    const compare = (method: string) => {
      if (!process.isAlive) return
      this.comparisonCount++
      this.check(() => compareBreakers(process.name, method, breaker, naive, clock()))
    }
    /** Calls a method, and then does the same with the naive breaker, unless another method has called it. */
    const observe = <T>(method: string, call: () => T, follow: (result: T) => void): T => {
      depth++
      let result: T
      try {
        result = call()
      } finally {
        depth--
      }
      if (depth > 0) return result
      follow(result)
      compare(method)
      return result
    }

    const { tryAcquire, release, recordResult, trip, reset, disable, enable, applyRemoteState } = breaker
    breaker.tryAcquire = (permit, lease, at?: number) => {
      const now = at ?? clock()
      const expected = expectAdmission(naive, breaker, now)
      return observe(
        'tryAcquire',
        () => tryAcquire.call(breaker, permit, lease, now),
        (isAdmitted) => {
          if (expected !== undefined && isAdmitted !== expected)
            this.check(() => {
              throw new Violation(
                'openings',
                `${process.name} ${isAdmitted ? 'admitted' : 'rejected'} a call of ${breaker.id}, which is ${naive.state} with ${naive.probes.length} probes: expected the opposite`,
              )
            })
          followAdmission(naive, breaker, permit, isAdmitted, now)
          if (isAdmitted) permits.set(permit, { ...permit, epoch: naive.epoch, startedAt: now })
        },
      )
    }
    breaker.release = (permit, outcome, endedAt) => {
      const given = permits.get(permit)
      permits.delete(permit)
      // The first attempt of a call has its permit without a call of the breaker.
      const known = { leaseEnd: permit.leaseEnd, epoch: permit.epoch, startedAt: permit.startedAt, ...given }
      const now = clock()
      const wasClosed = naive.state === 'closed'
      isRecorded = false
      observe(
        'release',
        () => release.call(breaker, permit, outcome, endedAt),
        () => {
          const counts =
            permit.epoch === -1 && known.epoch >= 0 && naive.release(permit, known, endedAt ?? now)
          const { slowCallDuration } = breaker.settings
          const isSlow = slowCallDuration !== undefined && now - known.startedAt >= slowCallDuration
          if (counts && outcome !== undefined) naive.record(now, outcome === 'failure', isSlow)
          if (isRecorded !== (counts && outcome !== undefined))
            this.check(() => {
              throw new Violation(
                'openings',
                `${process.name} ${isRecorded ? 'counted' : 'did not count'} the ${outcome} of a call of ${breaker.id} that was admitted in epoch ${known.epoch}, and the breaker is in epoch ${naive.epoch} (${wasClosed ? 'closed' : 'not closed'}): expected the opposite`,
              )
            })
        },
      )
    }
    breaker.recordResult = (isFailure, isSlow) => {
      isRecorded = true
      observe(
        'recordResult',
        () => recordResult.call(breaker, isFailure, isSlow),
        () => naive.record(clock(), isFailure, isSlow),
      )
    }
    breaker.trip = (options) =>
      observe(
        'trip',
        () => trip.call(breaker, options),
        () => naive.trip(clock(), breaker.tripDuration),
      )
    const observeClose = (method: 'reset' | 'disable' | 'enable', call: () => void, follow: () => void) => {
      breaker[method] = () => observe(method, () => call.call(breaker), follow)
    }
    observeClose('reset', reset, () => {
      if (!naive.isDisabled) naive.change('closed', clock())
    })
    observeClose('disable', disable, () => {
      naive.isDisabled = true
      naive.change('closed', clock())
    })
    observeClose('enable', enable, () => {
      if (!naive.isDisabled) return
      naive.isDisabled = false
      naive.change('closed', clock())
    })
    breaker.applyRemoteState = (remote) =>
      observe(
        'applyRemoteState',
        () => applyRemoteState.call(breaker, remote),
        () => naive.apply(clock(), remote),
      )
    // Which settings and times are right is decided elsewhere.
    const { scheduleProbe, reconfigure } = breaker
    breaker.scheduleProbe = (probeAt) =>
      observe(
        'scheduleProbe',
        () => scheduleProbe.call(breaker, probeAt),
        () => naive.copyProbes(breaker),
      )
    breaker.reconfigure = (settings) =>
      observe(
        'reconfigure',
        () => reconfigure.call(breaker, settings),
        () => naive.copyFrom(breaker, clock()),
      )
  }
}

/** Whether a call must be admitted or rejected; undefined if the fleet decides. */
function expectAdmission(naive: NaiveBreaker, breaker: CircuitBreaker, now: number): boolean | undefined {
  if (naive.state === 'closed') return true
  if (naive.state === 'open' && now < Math.min(naive.openUntil, now + naive.openDuration)) return false
  if (breaker.coordinator !== undefined) return undefined
  if (naive.state === 'open') return true
  const held = naive.probes.filter((probe) => {
    const { leaseEnd, startedAt } = probe as Permit
    return leaseEnd > now && startedAt <= now
  })
  return held.length < breaker.settings.halfOpenMax
}

/** Follows an admission. A probe of an open breaker makes it half open. */
function followAdmission(
  naive: NaiveBreaker,
  breaker: CircuitBreaker,
  permit: Permit,
  isAdmitted: boolean,
  now: number,
): void {
  const { settings, coordinator } = breaker
  if (naive.state === 'closed') return
  if (naive.state === 'open') {
    naive.openUntil = Math.min(naive.openUntil, now + naive.openDuration)
    // The fleet can deny the probe after the change.
    if (isAdmitted || (coordinator !== undefined && breaker.currentState === 'half_open'))
      naive.change('half_open', now)
  }
  if (isAdmitted) naive.probes = [...naive.probes, permit]
  if (coordinator !== undefined) naive.copyProbes(breaker)
  if (isAdmitted && naive.probes.length > settings.halfOpenMax)
    naive.probes = naive.probes.filter((probe) => (probe as Permit).leaseEnd > now)
}

/** @throws Violation if the breakers differ */
function compareBreakers(
  process: string,
  method: string,
  breaker: CircuitBreaker,
  naive: NaiveBreaker,
  now: number,
): void {
  const fail = (what: string, got: unknown, expected: unknown) => {
    throw new Violation(
      'openings',
      `${process} has ${breaker.id} with ${what} ${String(got)} after ${method}, expected ${String(expected)}`,
    )
  }
  for (const field of FIELDS) {
    if (field === 'openUntil' && naive.state !== 'open') continue
    const got = field === 'state' ? breaker.currentState : breaker[field]
    if (got !== naive[field]) fail(field, got, naive[field])
  }
  const { failureCount } = breaker
  if (failureCount !== naive.countFailures(now)) fail('failureCount', failureCount, naive.countFailures(now))
}
