import { createHash } from 'node:crypto'
import { ApiError } from './api-error.js'

/** The ETag of a record. It changes with each of its fields. */
export const createEtag = (wire: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(wire)).digest('base64url').slice(0, 22)}"`

const parseTags = (header: string): string[] => header.split(',').map((tag) => tag.trim())

/** Whether a header contains a tag by weak comparison, which is enough for reads (RFC 9110, 8.8.3.2). */
export const matchesWeakly = (header: string, tag: string | undefined): boolean =>
  matchesStrongly(header.replaceAll(/(^|,)\s*W\//g, '$1'), tag)

/** Whether a header contains a tag by strong comparison: a weak tag can belong to several states. */
const matchesStrongly = (header: string, tag: string | undefined): boolean =>
  tag !== undefined && (header.trim() === '*' || parseTags(header).includes(tag))

/** The conditional headers of a change. */
export interface Precondition {
  'if-match'?: string | undefined
  'if-none-match'?: string | undefined
}

/**
 * Checks that the current state is the one that the caller saw. `current` is undefined where the resource does not exist.
 *
 * @throws PRECONDITION_FAILED
 */
export function assertPreconditions(precondition: Precondition, current: unknown): void {
  const tag = current === undefined ? undefined : createEtag(current)
  const wanted = precondition['if-match']
  const unwanted = precondition['if-none-match']
  if (wanted !== undefined && !matchesStrongly(wanted, tag))
    throw new ApiError(
      'PRECONDITION_FAILED',
      tag === undefined
        ? 'not found: If-Match matches nothing; leave the header out to create it'
        : `changed in the meantime: the ETag is now ${tag}; read it again and repeat the change`,
      tag === undefined ? {} : { headers: { etag: tag } },
    )
  if (unwanted !== undefined && matchesWeakly(unwanted, tag))
    throw new ApiError('PRECONDITION_FAILED', 'already exists, and If-None-Match requires that it does not')
}
