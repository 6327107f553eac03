import { createHash } from 'node:crypto'

/** The longest name without a hash. File systems allow 255 bytes, and a suffix is added. */
const MAX_NAME_LENGTH = 200
const TRUNCATED_LENGTH = 150

/** Device names of Windows, with any extension. */
const WINDOWS_DEVICE_PATTERN = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

const escapeBytes = (bytes: Uint8Array) =>
  [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

/** A lone surrogate has no UTF-8 bytes, so its code is written. */
const escapeCharacter = (character: string) =>
  /^[\ud800-\udfff]$/.test(character)
    ? `%u${character.charCodeAt(0).toString(16)}`
    : escapeBytes(Buffer.from(character))

/**
 * Converts a name to one segment of a path. Letters, digits, inner dots and `_-@%!~'()` are kept, and all other characters are
 * percent-encoded, as in a URL. The result is never hidden, a device, or a path to another folder. A long name ends with its
 * hash. Two names can have the same segment, especially in a file system that is not case-sensitive: the caller must check that
 * the path is free.
 */
export function toPathSegment(name: string): string {
  const part = Array.from(name, (character, i) => {
    const isInnerDot = character === '.' && i > 0 && i < name.length - 1
    return isInnerDot || /^[A-Za-z0-9_@%!~'()-]$/.test(character) ? character : escapeCharacter(character)
  }).join('')
  if (part === '') return '%'
  if (part.length > MAX_NAME_LENGTH)
    return `${part.slice(0, TRUNCATED_LENGTH)}~${createHash('sha256').update(part).digest('hex').slice(0, 40)}`
  return WINDOWS_DEVICE_PATTERN.test(part) ? `${escapeCharacter(part.slice(0, 1))}${part.slice(1)}` : part
}
