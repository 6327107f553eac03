import { isHoldfastError } from 'holdfast'
import { ownErrorOf } from 'holdfast/internal'
import type { GrpcMetadata, GrpcStatus } from './types.js'

export const OK = 0
export const CANCELLED = 1
const UNKNOWN = 2
export const DEADLINE_EXCEEDED = 4
const RESOURCE_EXHAUSTED = 8
const UNAVAILABLE = 14

/** The status that the caller gets for an error of the engine, by what the error means. */
function toStatusCode(code: string): number {
  const [, httpStatus, rejects] = ownErrorOf(code) ?? []
  if (code === 'CANCELLED') return CANCELLED
  if (httpStatus === 504) return DEADLINE_EXCEEDED
  return rejects === 'operation' ? UNAVAILABLE : rejects === 'call' ? RESOURCE_EXHAUSTED : UNKNOWN
}

/** The error of an attempt that ended with a status other than OK. The engine classifies it by `code`. */
export class GrpcStatusError extends Error {
  override readonly name = 'GrpcStatusError'
  readonly code: number
  readonly details: string
  readonly metadata: GrpcMetadata
  /** The delay that the server requests, in milliseconds. */
  readonly retryAfter: number | undefined

  constructor({ code, details, metadata }: GrpcStatus, retryAfter?: number) {
    super(`${code}: ${details}`)
    this.code = code
    this.details = details
    this.metadata = metadata
    this.retryAfter = retryAfter
  }
}

/** The final status of a call that ended with `error`. The error is its cause, so that the caller finds the session. */
export function toStatus(
  error: unknown,
  createMetadata: () => GrpcMetadata,
): GrpcStatus & { cause: unknown } {
  if (error instanceof GrpcStatusError) {
    const { code, details, metadata } = error
    return { code, details, metadata, cause: error }
  }
  const code = isHoldfastError(error) ? toStatusCode(error.code) : UNKNOWN
  return { code, details: (error as Error).message, metadata: createMetadata(), cause: error }
}
