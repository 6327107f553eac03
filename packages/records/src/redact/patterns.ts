import { createProblem, type OptionProblem } from 'holdfast/internal'

/** The longest pattern of a user. */
const MAX_PATTERN_LENGTH = 1000

interface PatternGroup {
  /** Whether it contains an unbounded repetition. */
  hasRepeat: boolean
  /** The first token of each alternative. */
  readonly starts: string[]
}

const isUnboundedRepeat = (rest: string) => /^(?:[*+]|\{\d+,\})/.test(rest)

/** One character, class or escape of a pattern. */
const TOKEN_PATTERN = /^(?:\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S])/

/** Whether two alternatives can begin with the same character. Classes and escapes can begin with any character. */
const canOverlap = (starts: readonly string[]) =>
  starts.length > 1 &&
  (starts.some((start) => /^[\\[.(]/.test(start)) || new Set(starts).size < starts.length)

/**
 * Whether a pattern may take exponential time: an unbounded repetition, or alternatives that overlap, inside an unbounded
 * repetition.
 */
function isExponential(source: string): boolean {
  const open: PatternGroup[] = []
  let group: PatternGroup = { hasRepeat: false, starts: [] }
  let isStart = true
  for (let rest = source; rest !== ''; ) {
    const opening = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(rest)
    const piece = opening?.[0] ?? TOKEN_PATTERN.exec(rest)?.[0] ?? rest
    rest = rest.slice(piece.length)
    if (opening !== null) {
      if (isStart) group.starts.push('(')
      open.push(group)
      group = { hasRepeat: false, starts: [] }
      isStart = true
    } else if (piece === ')') {
      const inner = group
      group = open.pop() ?? { hasRepeat: false, starts: [] }
      const isUnbounded = isUnboundedRepeat(rest)
      if (isUnbounded && (inner.hasRepeat || canOverlap(inner.starts))) return true
      if (isUnbounded || inner.hasRepeat) group.hasRepeat = true
      isStart = false
    } else if (piece === '|') isStart = true
    else {
      if (isStart) group.starts.push(piece.startsWith('[') ? '[' : piece)
      isStart = false
      if (isUnboundedRepeat(rest)) group.hasRepeat = true
    }
  }
  return false
}

/** The problem of a pattern; undefined if it is valid. A pattern that matches an empty text would match between all characters. */
export function patternProblem(path: string, source: unknown): OptionProblem | undefined {
  const problem = (expected: string, got = JSON.stringify(source)) =>
    createProblem(path, 'invalid', expected, got)
  if (typeof source !== 'string' || source === '') return problem('a regular expression as a string')
  if (source.length > MAX_PATTERN_LENGTH)
    return problem(`at most ${MAX_PATTERN_LENGTH} characters`, `${source.length}`)
  try {
    if (new RegExp(source, 'g').test('')) return problem('a regular expression that matches no empty text')
  } catch (error) {
    return problem('a valid regular expression', `${JSON.stringify(source)}: ${(error as Error).message}`)
  }
  if (isExponential(source))
    return problem(
      'a regular expression without a repetition inside a repetition, which can take exponential time',
    )
  return undefined
}
