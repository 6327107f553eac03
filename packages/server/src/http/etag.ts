import { createHash } from 'node:crypto'
import { ApiError } from './errors.js'

/** A name for what a record holds now: it changes with any of its fields. */
export const createEtag = (wire: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(wire)).digest('base64url').slice(0, 22)}"`

const parseTags = (header: string): string[] => header.split(',').map((tag) => tag.trim())

/** Whether a header names a tag, or a weak one of the same name: enough for those who only read. */
export const matchesWeakly = (header: string, tag: string | undefined): boolean =>
  matchesStrongly(header.replaceAll(/(^|,)\s*W\//g, '$1'), tag)

/** Whether a header names the very tag: a weak one may stand for more than one state. */
const matchesStrongly = (header: string, tag: string | undefined): boolean =>
  tag !== undefined && (header.trim() === '*' || parseTags(header).includes(tag))

/** What a PUT may ask of what is there before it. */
export interface Precondition {
  'if-match'?: string | undefined
  'if-none-match'?: string | undefined
}

/**
 * Lets a change through only where what is there is what its maker saw. `current` is undefined where nothing is there.
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
        ? 'nothing is there that If-Match could match: leave the header out to create it'
        : `it has changed since: its ETag is now ${tag}; read it again and repeat the change`,
      tag === undefined ? {} : { headers: { etag: tag } },
    )
  if (unwanted !== undefined && matchesWeakly(unwanted, tag))
    throw new ApiError('PRECONDITION_FAILED', 'it is there already, and If-None-Match asks that it is not')
}
