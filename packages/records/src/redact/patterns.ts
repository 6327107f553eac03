import { createProblem, type OptionProblem } from 'holdfast/internal'
import { patternSteps } from './pattern-cost.js'

/** The longest pattern of a user. */
const MAX_PATTERN_LENGTH = 1000

/** The most steps of a search per position: a few repetitions of any length, none of which multiplies the steps of another. */
const MAX_STEPS = 80_000

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
  if (patternSteps(source) > MAX_STEPS)
    return problem(
      'a regular expression that needs few steps: no repetition inside a repetition, and after each repetition a character that it cannot match, or a limit such as {1,20}',
    )
  return undefined
}
