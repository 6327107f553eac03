import { createHash } from 'node:crypto'

/** The longest name that is written out; file systems take 255 bytes, and a suffix needs room. */
const MAX_NAME_LENGTH = 200
const TRUNCATED_LENGTH = 150

/** Names that Windows gives to devices, whatever follows a dot. */
const WINDOWS_DEVICE_PATTERN = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

const escapeBytes = (bytes: Uint8Array) =>
  [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

/** Half of a surrogate pair has no bytes of its own. */
const escapeCharacter = (character: string) =>
  /^[\ud800-\udfff]$/.test(character)
    ? `%u${character.charCodeAt(0).toString(16)}`
    : escapeBytes(Buffer.from(character))

/**
 * A name as one part of a path, which is the name itself where it is an ordinary one: what is no letter, digit, inner dot or
 * one of `_-@%!~'()` becomes percent signs and digits, as in a URL. None is hidden, a device, or leads elsewhere. Long names
 * end in their hash. Two names may share a part, and more do where the file system takes capitals for small letters: who
 * makes a file sees to it that it is nobody else's.
 */
export function toPathSegment(name: string): string {
  const part = Array.from(name, (character, i) => {
    const dot = character === '.' && i > 0 && i < name.length - 1
    return dot || /^[A-Za-z0-9_@%!~'()-]$/.test(character) ? character : escapeCharacter(character)
  }).join('')
  if (part === '') return '%'
  if (part.length > MAX_NAME_LENGTH)
    return `${part.slice(0, TRUNCATED_LENGTH)}~${createHash('sha256').update(part).digest('hex').slice(0, 40)}`
  return WINDOWS_DEVICE_PATTERN.test(part) ? `${escapeCharacter(part.slice(0, 1))}${part.slice(1)}` : part
}
