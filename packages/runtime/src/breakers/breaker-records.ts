import { type CircuitBreakerEvent, type CircuitBreakerState, SCHEMA } from '@holdfast/records'
import type { BreakerEvent, CircuitBreaker } from 'holdfast'
import { type BreakerOwner, proxyIdOf } from './breaker-id.js'

/** The record of a breaker's state change. */
export function breakerEventRecord(event: BreakerEvent): CircuitBreakerEvent {
  const { id, fromState, toState, failureCount, timestamp } = event
  return { id, proxyId: proxyIdOf(id), fromState, toState, timestamp: new Date(timestamp), failureCount }
}

const toDate = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms))

/** The opening of a breaker that is not closed. */
export interface OpeningDetails {
  /** When it opened, in epoch milliseconds; after a failed probe, when it opened again. */
  readonly at: number
  /** The number of failures that opened it while it was closed. Failed probes do not add to it. */
  readonly failures?: number | undefined
}

/** The record of a breaker. The last change of a breaker that never changed is `since`. */
export function toBreakerRecord(
  breaker: CircuitBreaker,
  owner: BreakerOwner,
  since: Date,
  openings: ReadonlyMap<string, OpeningDetails>,
): CircuitBreakerState {
  const { settings } = breaker
  const { policyId, serviceName, member } = owner
  const changed = toDate(breaker.lastStateChange) ?? since
  const opening = breaker.state === 'closed' ? undefined : openings.get(breaker.id)
  const record: CircuitBreakerState = {
    schema: SCHEMA,
    id: breaker.id,
    proxyId: member ?? null,
    state: breaker.state,
    failureCount: opening?.failures ?? breaker.failureCount,
    successCount: breaker.probeSuccesses,
    failureThreshold: settings.failureThreshold,
    successThreshold: settings.successThreshold,
    windowType: settings.windowType,
    timeoutDuration: settings.timeoutDuration,
    lastStateChange: changed,
  }
  if (policyId !== undefined) record.policyId = policyId
  if (serviceName !== undefined) record.serviceName = serviceName
  if (settings.windowType !== 'consecutive') record.windowDuration = settings.windowDuration
  if (breaker.tripDuration !== undefined) record.tripDuration = breaker.tripDuration
  const next = toDate(breaker.nextTestTime)
  if (next !== undefined) record.nextTestTime = next
  const failed = toDate(breaker.lastFailureTime)
  if (failed !== undefined) record.lastFailureTime = failed
  if (breaker.state !== 'closed') record.openTimestamp = toDate(opening?.at) ?? changed
  return record
}
