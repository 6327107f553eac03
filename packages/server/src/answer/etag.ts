import { createHash } from 'node:crypto'
import { Refusal } from './failure.js'

/** A name for what a record holds now: it changes with any of its fields. */
export const etagOf = (wire: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(wire)).digest('base64url').slice(0, 22)}"`

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim())

/** Whether a header names a tag, or a weak one of the same name: enough for those who only read. */
export const names = (header: string, tag: string | undefined): boolean =>
  matches(header.replaceAll(/(^|,)\s*W\//g, '$1'), tag)

/** Whether a header names the very tag: a weak one may stand for more than one state. */
const matches = (header: string, tag: string | undefined): boolean =>
  tag !== undefined && (header.trim() === '*' || tagsOf(header).includes(tag))

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
export function demand(asked: Precondition, current: unknown): void {
  const tag = current === undefined ? undefined : etagOf(current)
  const wanted = asked['if-match']
  const unwanted = asked['if-none-match']
  if (wanted !== undefined && !matches(wanted, tag))
    throw new Refusal(
      'PRECONDITION_FAILED',
      tag === undefined
        ? 'nothing is there that If-Match could match: leave the header out to create it'
        : `it has changed since: its ETag is now ${tag}; read it again and repeat the change`,
      tag === undefined ? {} : { headers: { etag: tag } },
    )
  if (unwanted !== undefined && names(unwanted, tag))
    throw new Refusal('PRECONDITION_FAILED', 'it is there already, and If-None-Match asks that it is not')
}
