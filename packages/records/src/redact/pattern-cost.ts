import {
  ALL_CHARACTERS,
  areDisjoint,
  type Characters,
  NO_CHARACTERS,
  shapeOf,
  startDistance,
  union,
} from './pattern-characters.js'
import { type PatternNode, parsePattern } from './pattern-syntax.js'

/** The longest text that a pattern searches, with the margin of a text that is truncated. */
const TEXT_CHARS = 10_000

/** What can follow a part of a pattern. */
interface Rest {
  readonly first: Characters
  /** Whether it can match without a character. */
  readonly isEmpty: boolean
  /** Whether it always matches, so that nothing is tried again. */
  readonly isCertain: boolean
  /** The steps after which it is rejected if its first character is another one. */
  readonly tries: number
}

const END: Rest = { first: NO_CHARACTERS, isEmpty: true, isCertain: true, tries: 1 }
const UNKNOWN: Rest = { first: ALL_CHARACTERS, isEmpty: true, isCertain: false, tries: 1 }

/** A part of a pattern, with everything after it. */
interface Cost {
  /** The largest number of ways in which the part matches at one position and after which the rest is tried. */
  readonly ways: number
  /** The largest number of steps for all of them. */
  readonly steps: number
  /** The largest number of steps if the part does not match; for a part after which the rest is not certain, all steps. */
  readonly failedSteps: number
  readonly rest: Rest
}

/** A product that is 0 where one number is 0 and the other one infinite. */
const multiply = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b)

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

function sequenceCost(parts: readonly PatternNode[], after: Rest): Cost {
  let cost: Cost = { ways: 1, steps: 0, failedSteps: 0, rest: after }
  for (const part of parts.toReversed()) {
    const { ways, steps, failedSteps, rest } = costOf(part, cost.rest)
    // Where the rest is certain, the search ends when the following parts match, so all their other tries fail.
    const triedSteps = after.isCertain ? cost.failedSteps : cost.steps
    cost = {
      ways: ways * cost.ways,
      steps: steps + multiply(ways - 1, triedSteps) + cost.steps,
      failedSteps: cost.rest.isCertain ? failedSteps : steps + multiply(ways, triedSteps),
      rest,
    }
  }
  return cost
}

function choiceCost(options: readonly PatternNode[], after: Rest): Cost {
  const costs = options.map((option) => costOf(option, after))
  let first = NO_CHARACTERS
  // Whether the next character decides which option can match.
  const isDecided = costs.every(({ rest }) => {
    const isNew = !rest.isEmpty && areDisjoint(rest.first, first)
    first = union(first, rest.first)
    return isNew
  })
  const tries = sum(costs.map(({ rest }) => rest.tries))
  const stepsOf = (steps: readonly number[]) => (isDecided ? Math.max(...steps) + tries : sum(steps))
  const ways = costs.map((each) => each.ways)
  return {
    ways: isDecided ? Math.max(...ways) : sum(ways),
    steps: stepsOf(costs.map((each) => each.steps)),
    failedSteps: stepsOf(costs.map((each) => each.failedSteps)),
    rest: {
      first: costs.reduce((found, { rest }) => union(found, rest.first), NO_CHARACTERS),
      isEmpty: costs.some(({ rest }) => rest.isEmpty),
      isCertain: costs.some(({ rest }) => rest.isCertain),
      tries,
    },
  }
}

function repeatCost({ body, min, max }: Extract<PatternNode, { type: 'repeat' }>, after: Rest): Cost {
  const { first, length } = shapeOf(body)
  const again: Rest = {
    first: union(first, after.first),
    isEmpty: after.isEmpty || length === 0,
    isCertain: after.isCertain && min <= 1,
    tries: after.tries + 1,
  }
  const once = costOf(body, max > 1 ? again : after)
  const canBeEmpty = min === 0 || length === 0
  const rest: Rest = {
    first: canBeEmpty ? again.first : first,
    isEmpty: once.rest.isEmpty || (canBeEmpty && after.isEmpty),
    isCertain: min === 0 && after.isCertain,
    tries: once.rest.tries + (canBeEmpty ? after.tries : 0),
  }
  const times = Math.min(max, Math.max(min, Math.ceil(TEXT_CHARS / Math.max(1, length))))
  // A body that can match without a character can match in one more way.
  const ways = once.ways + (length === 0 && max > 1 ? 1 : 0)
  if (ways > 1) {
    let [all, level] = [min === 0 ? 1 : 0, 1]
    for (let time = 1; time <= times && Number.isFinite(all); time++) {
      level *= ways
      all += level
    }
    const steps = all * Math.max(1, once.steps)
    return { ways: all, steps, failedSteps: steps, rest }
  }
  // The search ends where the repetition ends.
  if (after.isCertain)
    return {
      ways: 1,
      steps: multiply(times, once.steps) + after.tries,
      failedSteps: multiply(min, once.steps),
      rest,
    }
  // All but one of the places where the repetition can end are rejected by the next character.
  const isSeparated = !after.isEmpty && length > 0 && areDisjoint(first, after.first)
  const ends = Math.max(1, times - min + 1)
  const steps = multiply(times, once.steps) + ends * after.tries
  return { ways: isSeparated ? 1 : ends, steps, failedSteps: steps, rest }
}

function costOf(node: PatternNode, after: Rest): Cost {
  switch (node.type) {
    case 'character':
      return {
        ways: 1,
        steps: 1,
        failedSteps: 1,
        rest: { first: shapeOf(node).first, isEmpty: false, isCertain: false, tries: 1 },
      }
    case 'assertion':
      return {
        ways: 1,
        steps: 1,
        failedSteps: 1,
        rest: { ...after, isCertain: false, tries: after.tries + 1 },
      }
    case 'reference':
      return { ways: 1, steps: TEXT_CHARS, failedSteps: TEXT_CHARS, rest: UNKNOWN }
    case 'unknown':
      return {
        ways: 1,
        steps: Number.POSITIVE_INFINITY,
        failedSteps: Number.POSITIVE_INFINITY,
        rest: UNKNOWN,
      }
    case 'look': {
      // A lookbehind is read backwards, where nothing is known about what is next.
      const body = costOf(node.body, node.isBehind ? UNKNOWN : END)
      // A lookaround is read at each place before the next character is compared.
      const steps = node.isBehind ? body.ways * body.steps : body.steps
      return { ways: 1, steps, failedSteps: steps, rest: UNKNOWN }
    }
    case 'sequence':
      return sequenceCost(node.parts, after)
    case 'choice':
      return choiceCost(node.options, after)
    case 'repeat':
      return repeatCost(node, after)
  }
}

/**
 * An upper bound of the steps that a backtracking search needs per position of the longest text. A repetition multiplies the steps
 * of everything after it, unless the next character cannot belong to it. A pattern that begins with a text such as `key=` can
 * begin at every fourth position at most.
 */
export function patternSteps(source: string): number {
  const node = parsePattern(source)
  return costOf(node, END).steps / startDistance(node)
}
