// BullMQ recognises these errors by their names, that of a rate limit by its message, so that its classes are not needed.

/** Errors by which a processor reports that it has moved the job. They are not failures. */
const MOVE_ERRORS: ReadonlySet<string> = new Set([
  'DelayedError',
  'WaitingError',
  'WaitingChildrenError',
  'RateLimitError',
])

export const isMoveError = (error: unknown): error is Error =>
  error instanceof Error && MOVE_ERRORS.has(error.name)

/** Whether an error ends its job regardless of the attempts that are left. */
export const isUnrecoverable = (error: unknown): boolean =>
  error instanceof Error && error.name === 'UnrecoverableError'

const createControlError = (name: string, message: string): Error =>
  Object.assign(new Error(message), { name })

/** The error of a processor that has delayed its job. */
export const createDelayedError = (): Error => createControlError('DelayedError', 'bullmq:movedToDelayed')

/** The error of a processor whose queue is rate limited. */
export const createRateLimitError = (): Error =>
  createControlError('RateLimitError', 'bullmq:rateLimitExceeded')

/** The error that ends a job, with the message and the stack of its cause, which BullMQ stores. */
export function toUnrecoverable(error: Error): Error {
  if (isUnrecoverable(error)) return error
  const unrecoverable = Object.assign(createControlError('UnrecoverableError', error.message), {
    cause: error,
  })
  if (error.stack !== undefined) unrecoverable.stack = error.stack
  return unrecoverable
}

/** BullMQ reads the message and the stack of whatever a processor throws. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
