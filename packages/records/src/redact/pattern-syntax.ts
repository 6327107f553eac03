/** A part of a pattern. */
export type PatternNode =
  | { type: 'character'; source: string }
  | { type: 'assertion' }
  | { type: 'unknown' }
  | { type: 'reference' }
  | { type: 'look'; body: PatternNode; isBehind: boolean }
  | { type: 'sequence'; parts: PatternNode[] }
  | { type: 'choice'; options: PatternNode[] }
  | { type: 'repeat'; body: PatternNode; min: number; max: number }

const OPENING = /^\((?:\?(?:[:=!]|<[=!]|<[^>]+>|[a-z-]+:))?/
const REPEAT = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/
const REFERENCE = /^\\(?:[1-9]\d*|k<[^>]*>)/
const CHARACTER =
  /^(?:\\(?:0[0-7]{0,2}|x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S])/i

/** Parses a pattern that `RegExp` accepts. */
export function parsePattern(source: string): PatternNode {
  let rest = source
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const found = pattern.exec(rest)
    if (found !== null) rest = rest.slice(found[0].length)
    return found
  }
  const parseChoice = (): PatternNode => {
    const options = [parseSequence()]
    while (take(/^\|/) !== null) options.push(parseSequence())
    return options.length === 1 ? (options[0] as PatternNode) : { type: 'choice', options }
  }
  const parseSequence = (): PatternNode => {
    const parts: PatternNode[] = []
    while (rest !== '' && rest[0] !== '|' && rest[0] !== ')') parts.push(parseRepeat(parsePart()))
    return { type: 'sequence', parts }
  }
  const parsePart = (): PatternNode => {
    const opening = take(OPENING)?.[0]
    if (opening !== undefined) {
      const body = parseChoice()
      take(/^\)/)
      // The flags of a group change which characters match.
      if (/^\(\?[a-z-]/.test(opening)) return { type: 'unknown' }
      return /[=!]$/.test(opening) ? { type: 'look', body, isBehind: opening.includes('<') } : body
    }
    if (take(/^(?:[$^]|\\b)/i) !== null) return { type: 'assertion' }
    if (take(REFERENCE) !== null) return { type: 'reference' }
    return { type: 'character', source: take(CHARACTER)?.[0] ?? '' }
  }
  const parseRepeat = (body: PatternNode): PatternNode => {
    const found = take(REPEAT)
    if (found === null) return body
    const [text, least, comma, most] = found
    if (least === undefined)
      return {
        type: 'repeat',
        body,
        min: text.startsWith('+') ? 1 : 0,
        max: text.startsWith('?') ? 1 : Number.POSITIVE_INFINITY,
      }
    const max = comma === '' ? Number(least) : most === '' ? Number.POSITIVE_INFINITY : Number(most)
    return { type: 'repeat', body, min: Number(least), max }
  }
  return parseChoice()
}
