/** A pattern of the user's that matches nothing would put a word between all characters; one that is this long is no pattern. */
const LONGEST_PATTERN = 1000

interface Group {
  /** Whether something in it repeats without end. */
  repeats: boolean
  /** How each of its alternatives begins. */
  readonly starts: string[]
}

const isEndless = (rest: string) => /^(?:[*+]|\{\d+,\})/.test(rest)

/** One character, class or escape of a pattern. */
const PIECE = /^(?:\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S])/

/** Whether two alternatives may begin with the same character; classes and escapes may begin with any. */
const overlap = (starts: readonly string[]) =>
  starts.length > 1 &&
  (starts.some((start) => /^[\\[.(]/.test(start)) || new Set(starts).size < starts.length)

/**
 * Whether a pattern may take exponentially long: something that repeats without end, or may be read in two ways, inside
 * something that repeats without end.
 */
function isExplosive(source: string): boolean {
  const open: Group[] = []
  let group: Group = { repeats: false, starts: [] }
  let begins = true
  for (let rest = source; rest !== ''; ) {
    const opening = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(rest)
    const piece = opening?.[0] ?? PIECE.exec(rest)?.[0] ?? rest
    rest = rest.slice(piece.length)
    if (opening !== null) {
      if (begins) group.starts.push('(')
      open.push(group)
      group = { repeats: false, starts: [] }
      begins = true
    } else if (piece === ')') {
      const inner = group
      group = open.pop() ?? { repeats: false, starts: [] }
      const endless = isEndless(rest)
      if (endless && (inner.repeats || overlap(inner.starts))) return true
      if (endless || inner.repeats) group.repeats = true
      begins = false
    } else if (piece === '|') begins = true
    else {
      if (begins) group.starts.push(piece.startsWith('[') ? '[' : piece)
      begins = false
      if (isEndless(rest)) group.repeats = true
    }
  }
  return false
}

/** What is wrong with a pattern, in words; undefined where it is sound. */
export function patternProblem(source: unknown): string | undefined {
  const takes = 'takes a regular expression as text'
  if (typeof source !== 'string' || source === '') return `got ${JSON.stringify(source)}, ${takes}`
  if (source.length > LONGEST_PATTERN)
    return `got ${source.length} characters, takes at most ${LONGEST_PATTERN}`
  try {
    if (new RegExp(source, 'g').test('')) return `got ${JSON.stringify(source)}, which matches an empty text`
  } catch (error) {
    return `got ${JSON.stringify(source)}, ${takes}: ${(error as Error).message}`
  }
  if (isExplosive(source))
    return `got ${JSON.stringify(source)}, takes a pattern without a repetition inside a repetition, which could take for ever`
  return undefined
}
