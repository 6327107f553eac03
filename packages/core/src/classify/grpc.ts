import { type Classification, type ErrorLike, isErrorLike, NETWORK } from './classification.js'
import { byCode } from './error-codes.js'

const GRPC_STATUS_NAMES =
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  )

export const isGrpcStatusName = (name: string): boolean => GRPC_STATUS_NAMES.includes(name)

/**
 * The name of the gRPC status of an error. A small number in `code` means much else elsewhere, so it must come with the
 * text or the metadata of a gRPC answer.
 */
export function grpcStatusOf(error: ErrorLike): string | undefined {
  const { code } = error
  if (typeof code !== 'number' || !(code > 0)) return undefined
  return typeof error.details === 'string' || isErrorLike(error.metadata)
    ? GRPC_STATUS_NAMES[code]
    : undefined
}

/** What a gRPC error says; undefined where the error is none. */
export function byGrpcStatus(error: ErrorLike): Classification | undefined {
  const name = grpcStatusOf(error)
  if (name === undefined) return undefined
  return name === 'UNAVAILABLE' && /connect/i.test(`${error.details}`) ? NETWORK : byCode(`grpc:${name}`)
}
