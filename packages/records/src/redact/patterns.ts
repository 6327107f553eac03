/** A pattern of the user's that matches nothing would put a word between all characters; one that is this long is no pattern. */
const MAX_PATTERN_LENGTH = 1000

interface PatternGroup {
  /** Whether something in it repeats without end. */
  hasRepeat: boolean
  /** How each of its alternatives begins. */
  readonly starts: string[]
}

const isUnboundedRepeat = (rest: string) => /^(?:[*+]|\{\d+,\})/.test(rest)

/** One character, class or escape of a pattern. */
const TOKEN_PATTERN = /^(?:\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S])/

/** Whether two alternatives may begin with the same character; classes and escapes may begin with any. */
const canOverlap = (starts: readonly string[]) =>
  starts.length > 1 &&
  (starts.some((start) => /^[\\[.(]/.test(start)) || new Set(starts).size < starts.length)

/**
 * Whether a pattern may take exponentially long: something that repeats without end, or may be read in two ways, inside
 * something that repeats without end.
 */
function isExponential(source: string): boolean {
  const open: PatternGroup[] = []
  let group: PatternGroup = { hasRepeat: false, starts: [] }
  let begins = true
  for (let rest = source; rest !== ''; ) {
    const opening = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(rest)
    const piece = opening?.[0] ?? TOKEN_PATTERN.exec(rest)?.[0] ?? rest
    rest = rest.slice(piece.length)
    if (opening !== null) {
      if (begins) group.starts.push('(')
      open.push(group)
      group = { hasRepeat: false, starts: [] }
      begins = true
    } else if (piece === ')') {
      const inner = group
      group = open.pop() ?? { hasRepeat: false, starts: [] }
      const endless = isUnboundedRepeat(rest)
      if (endless && (inner.hasRepeat || canOverlap(inner.starts))) return true
      if (endless || inner.hasRepeat) group.hasRepeat = true
      begins = false
    } else if (piece === '|') begins = true
    else {
      if (begins) group.starts.push(piece.startsWith('[') ? '[' : piece)
      begins = false
      if (isUnboundedRepeat(rest)) group.hasRepeat = true
    }
  }
  return false
}

/** What is wrong with a pattern, in words; undefined where it is sound. */
export function patternProblem(source: unknown): string | undefined {
  const expected = 'takes a regular expression as text'
  if (typeof source !== 'string' || source === '') return `got ${JSON.stringify(source)}, ${expected}`
  if (source.length > MAX_PATTERN_LENGTH)
    return `got ${source.length} characters, takes at most ${MAX_PATTERN_LENGTH}`
  try {
    if (new RegExp(source, 'g').test('')) return `got ${JSON.stringify(source)}, which matches an empty text`
  } catch (error) {
    return `got ${JSON.stringify(source)}, ${expected}: ${(error as Error).message}`
  }
  if (isExponential(source))
    return `got ${JSON.stringify(source)}, takes a pattern without a repetition inside a repetition, which could take for ever`
  return undefined
}
