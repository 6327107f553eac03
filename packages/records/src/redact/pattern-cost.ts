/** The longest text that a pattern searches, with the margin of a text that is truncated. */
const TEXT_CHARS = 10_000

/** Every character of ASCII. */
const ASCII = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code))

/** The blanks that are not ASCII. */
const BLANKS = String.fromCharCode(...Array.from({ length: 65_536 - 128 }, (_, i) => i + 128)).replace(
  /\S/g,
  '',
)

/** The characters with which a part can begin. Those that are not ASCII count as one of two: blanks, and the rest. */
type Characters = ReadonlySet<string>

const NO_CHARACTERS: Characters = new Set()
const ALL_CHARACTERS: Characters = new Set([...ASCII.split(''), 'blank', 'rest'])

const union = (a: Characters, b: Characters): Characters => new Set([...a, ...b])

function areDisjoint(a: Characters, b: Characters): boolean {
  for (const each of a) if (b.has(each)) return false
  return true
}

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

type Node =
  | { type: 'character'; source: string }
  | { type: 'assertion' }
  | { type: 'unknown' }
  | { type: 'reference' }
  | { type: 'look'; body: Node; isBehind: boolean }
  | { type: 'sequence'; parts: Node[] }
  | { type: 'choice'; options: Node[] }
  | { type: 'repeat'; body: Node; min: number; max: number }

const OPENING = /^\((?:\?(?:[:=!]|<[=!]|<[^>]+>|[a-z-]+:))?/
const REPEAT = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/
const REFERENCE = /^\\(?:[1-9]\d*|k<[^>]*>)/
const CHARACTER =
  /^(?:\\(?:0[0-7]{0,2}|x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[\s\S])|\[(?:\\[\s\S]|[^\]\\])*\]|[\s\S])/i

/** Parses a pattern that `RegExp` accepts. */
function parsePattern(source: string): Node {
  let rest = source
  const take = (pattern: RegExp): RegExpExecArray | null => {
    const found = pattern.exec(rest)
    if (found !== null) rest = rest.slice(found[0].length)
    return found
  }
  const parseChoice = (): Node => {
    const options = [parseSequence()]
    while (take(/^\|/) !== null) options.push(parseSequence())
    return options.length === 1 ? (options[0] as Node) : { type: 'choice', options }
  }
  const parseSequence = (): Node => {
    const parts: Node[] = []
    while (rest !== '' && rest[0] !== '|' && rest[0] !== ')') parts.push(parseRepeat(parsePart()))
    return { type: 'sequence', parts }
  }
  const parsePart = (): Node => {
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
  const parseRepeat = (body: Node): Node => {
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

/** Escapes, and classes that are not negated, of which no character is outside of ASCII, except the blanks of `\\s`. */
const ONLY_ASCII =
  /^(?:\\(?:[dfnrstvw]|[^\w\x80-\uffff])|\[(?!\^)(?:\\(?:[dfnrstvw]|[^\w\x80-\uffff])|[^\\\x80-\uffff])*\])$/

/** A set that is too large is safe: it makes a pattern more expensive. A search through all characters would take too long. */
const charactersOf = (source: string): Characters => {
  if (source !== '.' && ASCII.includes(source)) return new Set([source])
  const pattern = new RegExp(source, 'g')
  const found = new Set(ASCII.match(pattern))
  if (BLANKS.match(pattern) !== null) found.add('blank')
  if (!ONLY_ASCII.test(source)) found.add('rest')
  return found.size === 0 ? ALL_CHARACTERS : found
}

/** The characters with which a part can begin, and the smallest number of characters of its matches. */
interface Shape {
  readonly first: Characters
  readonly length: number
}

const shapes = new WeakMap<Node, Shape>()

function shapeOf(node: Node): Shape {
  let shape = shapes.get(node)
  if (shape === undefined) {
    shape = computeShape(node)
    shapes.set(node, shape)
  }
  return shape
}

function computeShape(node: Node): Shape {
  switch (node.type) {
    case 'character':
      return { first: charactersOf(node.source), length: 1 }
    case 'reference':
    case 'unknown':
      return { first: ALL_CHARACTERS, length: 0 }
    case 'assertion':
    case 'look':
      return { first: NO_CHARACTERS, length: 0 }
    case 'repeat': {
      const { first, length } = shapeOf(node.body)
      return { first, length: node.min * length }
    }
    case 'choice': {
      const options = node.options.map(shapeOf)
      return {
        first: options.reduce((all, { first }) => union(all, first), NO_CHARACTERS),
        length: Math.min(...options.map(({ length }) => length)),
      }
    }
    case 'sequence': {
      let [first, length] = [NO_CHARACTERS, 0]
      for (const part of node.parts.map(shapeOf)) {
        if (length === 0) first = union(first, part.first)
        length += part.length
      }
      return { first, length }
    }
  }
}

/** A product that is 0 where one number is 0 and the other one infinite. */
const multiply = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b)

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

function sequenceCost(parts: readonly Node[], after: Rest): Cost {
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

function choiceCost(options: readonly Node[], after: Rest): Cost {
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

function repeatCost({ body, min, max }: Extract<Node, { type: 'repeat' }>, after: Rest): Cost {
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

function costOf(node: Node, after: Rest): Cost {
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

/** The characters with which every match begins, as far as each is one character of the pattern, and whether these are all. */
interface Prefix {
  readonly characters: readonly Characters[]
  readonly isAll: boolean
}

function prefixOf(node: Node): Prefix {
  switch (node.type) {
    case 'character':
      return { characters: [shapeOf(node).first], isAll: true }
    case 'assertion':
      return { characters: [], isAll: true }
    case 'repeat':
      return { characters: node.min === 0 ? [] : prefixOf(node.body).characters, isAll: false }
    case 'sequence': {
      const characters: Characters[] = []
      for (const part of node.parts) {
        const prefix = prefixOf(part)
        characters.push(...prefix.characters)
        if (!prefix.isAll) return { characters, isAll: false }
      }
      return { characters, isAll: true }
    }
    case 'choice': {
      const options = node.options.map((option) => prefixOf(option).characters)
      const length = Math.min(...options.map((option) => option.length))
      const characters = Array.from({ length }, (_, at) =>
        options.reduce((all, option) => union(all, option[at] as Characters), NO_CHARACTERS),
      )
      return { characters, isAll: false }
    }
    case 'look':
    case 'reference':
    case 'unknown':
      return { characters: [], isAll: false }
  }
}

/** A longer text at the beginning of a pattern counts as one of this length, because each distance compares the whole text. */
const MAX_DISTANCE = 32

/** The smallest distance of two positions of a text at which matches can begin. */
function startDistance(node: Node): number {
  const { characters } = prefixOf(node)
  let distance = 1
  while (
    distance < Math.min(characters.length, MAX_DISTANCE) &&
    characters.slice(distance).some((each, at) => areDisjoint(each, characters[at] as Characters))
  )
    distance++
  return distance
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
