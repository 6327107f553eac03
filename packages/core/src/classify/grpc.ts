import { type Classification, type ErrorLike, isErrorLike, NETWORK } from './classification.js'
import { byCode } from './error-codes.js'

const GRPC_STATUS_NAMES = /* @__PURE__ */ (() =>
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  ))()

export const isGrpcStatusName = (name: string): boolean => GRPC_STATUS_NAMES.includes(name)

/**
 * Returns the name of the gRPC status of an error. Other libraries use small numbers in `code` too, so the details or metadata
 * of a gRPC response are required.
 */
export function grpcStatusOf(error: ErrorLike): string | undefined {
  const { code } = error
  if (typeof code !== 'number' || !(code > 0)) return undefined
  return typeof error.details === 'string' || isErrorLike(error.metadata)
    ? GRPC_STATUS_NAMES[code]
    : undefined
}

/** Classifies a gRPC error; undefined for any other error. */
export function byGrpcStatus(error: ErrorLike): Classification | undefined {
  const name = grpcStatusOf(error)
  if (name === undefined) return undefined
  return name === 'UNAVAILABLE' && /connect/i.test(`${error.details}`) ? NETWORK : byCode(`grpc:${name}`)
}
