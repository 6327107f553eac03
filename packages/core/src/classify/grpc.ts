import { type Bag, type Classification, isBag, NETWORK } from './verdict.js'
import { byWord } from './words.js'

const NAMES =
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED'.split(
    ' ',
  )

export const isGrpcName = (name: string): boolean => NAMES.includes(name)

/**
 * The name of the gRPC status of an error. A small number in `code` means much else elsewhere, so it must come with the
 * text or the metadata of a gRPC answer.
 */
export function grpcNameOf(error: Bag): string | undefined {
  const { code } = error
  if (typeof code !== 'number' || !(code > 0)) return undefined
  return typeof error.details === 'string' || isBag(error.metadata) ? NAMES[code] : undefined
}

/** What a gRPC error says; undefined where the error is none. */
export function byGrpc(error: Bag): Classification | undefined {
  const name = grpcNameOf(error)
  if (name === undefined) return undefined
  return name === 'UNAVAILABLE' && /connect/i.test(`${error.details}`) ? NETWORK : byWord(`grpc:${name}`)
}
