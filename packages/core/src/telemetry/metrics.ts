import { isHoldfastError } from '../errors.js'
import type { GuardEvent } from '../guard/events.js'
import { rejectionReason } from '../retry/stop-reason.js'
import type { Meter } from './types.js'

/** The metrics of the calls of one guard. */
export interface GuardMetrics {
  onEvent(event: GuardEvent): void
  recordDuration(milliseconds: number): void
}

/** Creates the metrics of a guard, with the names that a runtime uses. Exporters add `_total` to the names of counters. */
export function createCallMetrics(meter: Meter, operation: string): GuardMetrics {
  const calls = meter.createCounter('holdfast_calls', {
    description: 'Calls that ended, by result (success, failure) and whether there was a retry.',
  })
  const retries = meter.createCounter('holdfast_retries', { description: 'Retries.' })
  const rejections = meter.createCounter('holdfast_rejections', {
    description: 'Calls that were rejected before their first attempt, by reason.',
  })
  const transitions = meter.createCounter('holdfast_circuit_breaker_transitions', {
    description: 'State changes of breakers by the new state.',
  })
  const durations = meter.createHistogram('holdfast_call_duration_seconds', {
    description: 'Duration of calls, delays included.',
    unit: 's',
  })
  const countCall = (result: string, attempt: number) =>
    calls.add(1, { operation, result, retried: String(attempt > 1) })
  return {
    onEvent: (event) => {
      switch (event.type) {
        case 'succeeded':
          return countCall('success', event.attempt)
        case 'gave_up':
          countCall('failure', event.attempt)
          // A call whose breaker opened after an attempt ends with the error of that attempt.
          if (isHoldfastError(event.error) && rejectionReason(event.error.code) === event.stopped)
            rejections.add(1, { operation, reason: event.stopped })
          return
        case 'retry_scheduled':
          return retries.add(1, { operation })
        case 'breaker_changed':
          return transitions.add(1, { id: event.id, to: event.toState })
        case 'attempt_failed':
      }
    },
    recordDuration: (milliseconds) => durations.record(milliseconds / 1000, { operation }),
  }
}
