import { isInstanceOfAnyCopy } from 'holdfast/internal'

const CIRCUIT_IS_OPEN = 'Execution prevented because the circuit breaker is open'

/**
 * Makes `instanceof` true for errors of another copy of the package, such as its CommonJS form. It is a class of its own, because V8
 * creates instances of a class slowly if that class itself has such a member.
 */
class CrossCopyError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'cockatielError', value)
  }
}

/** A circuit breaker rejected the call because it is open. */
export class BrokenCircuitError extends CrossCopyError {
  readonly isBrokenCircuitError = true

  /** @internal */
  get cockatielError(): string {
    return 'BrokenCircuitError'
  }

  constructor(message = CIRCUIT_IS_OPEN) {
    super(message)
  }
}

/** A circuit breaker rejected the call because `isolate` holds it open. */
export class IsolatedCircuitError extends BrokenCircuitError {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'isolatedCircuitError', value)
  }

  readonly isIsolatedCircuitError = true

  /** @internal */
  get isolatedCircuitError(): boolean {
    return true
  }

  constructor() {
    super(CIRCUIT_IS_OPEN)
  }
}

/** The `lastFailure` of a circuit breaker that was restored while open. */
export class HydratingCircuitError extends CrossCopyError {
  readonly isHydratingCircuitError = true

  /** @internal */
  get cockatielError(): string {
    return 'HydratingCircuitError'
  }

  constructor(message = CIRCUIT_IS_OPEN) {
    super(message)
  }
}

/** A bulkhead rejected the call because its slots and its queue are full. */
export class BulkheadRejectedError extends CrossCopyError {
  readonly isBulkheadRejectedError = true

  /** @internal */
  get cockatielError(): string {
    return 'BulkheadRejectedError'
  }

  constructor(executionSlots: number, queueSlots: number) {
    super(`Bulkhead capacity exceeded (0/${executionSlots} execution slots, 0/${queueSlots} available)`)
  }
}

/** A call timed out, or its signal was aborted before it started. */
export class TaskCancelledError extends CrossCopyError {
  readonly isTaskCancelledError = true

  /** @internal */
  get cockatielError(): string {
    return 'TaskCancelledError'
  }

  constructor(message = 'Operation cancelled') {
    super(message)
  }
}

// The properties also identify errors of another copy of the package.
const hasMark =
  <T extends Error>(mark: keyof T & string) =>
  (error: unknown): error is T =>
    error instanceof Error && mark in error

/** Whether the error is a {@link BrokenCircuitError}. */
export const isBrokenCircuitError: (e: unknown) => e is BrokenCircuitError = hasMark('isBrokenCircuitError')
/** Whether the error is a {@link BulkheadRejectedError}. */
export const isBulkheadRejectedError: (e: unknown) => e is BulkheadRejectedError =
  hasMark('isBulkheadRejectedError')
/** Whether the error is an {@link IsolatedCircuitError}. */
export const isIsolatedCircuitError: (e: unknown) => e is IsolatedCircuitError =
  hasMark('isIsolatedCircuitError')
/** Whether the error is a {@link TaskCancelledError}. */
export const isTaskCancelledError: (e: unknown) => e is TaskCancelledError = hasMark('isTaskCancelledError')
/** Whether the error is a {@link HydratingCircuitError}. */
export const isHydratingCircuitError: (e: unknown) => e is HydratingCircuitError =
  hasMark('isHydratingCircuitError')
