import type { PatternNode } from './pattern-syntax.js'

/** Every character of ASCII. */
const ASCII = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code))

/** The blanks that are not ASCII. */
const BLANKS = String.fromCharCode(...Array.from({ length: 65_536 - 128 }, (_, i) => i + 128)).replace(
  /\S/g,
  '',
)

/** The characters with which a part can begin. Those that are not ASCII count as one of two: blanks, and the rest. */
export type Characters = ReadonlySet<string>

export const NO_CHARACTERS: Characters = new Set()
export const ALL_CHARACTERS: Characters = new Set([...ASCII.split(''), 'blank', 'rest'])

export const union = (a: Characters, b: Characters): Characters => new Set([...a, ...b])

export function areDisjoint(a: Characters, b: Characters): boolean {
  for (const each of a) if (b.has(each)) return false
  return true
}

/** Escapes, and classes that are not negated, of which no character is outside of ASCII, except the blanks of `\s`. */
const ONLY_ASCII =
  /^(?:\\(?:[dsw]|[nrt]|[fv]|[^\w\x80-\uffff])|\[(?!\^)(?:\\(?:[dsw]|[nrt]|[fv]|[^\w\x80-\uffff])|[^\\\x80-\uffff])*\])$/

/** A set that is too large is safe: it makes a pattern more expensive. A search through all characters would take too long. */
const charactersOf = (source: string): Characters => {
  if (source.length === 1 && source !== '.' && ASCII.includes(source)) return new Set([source])
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

const shapes = new WeakMap<PatternNode, Shape>()

export function shapeOf(node: PatternNode): Shape {
  let shape = shapes.get(node)
  if (shape === undefined) {
    shape = computeShape(node)
    shapes.set(node, shape)
  }
  return shape
}

function computeShape(node: PatternNode): Shape {
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

/** The characters with which every match begins, as far as each is one character of the pattern, and whether these are all. */
interface Prefix {
  readonly characters: readonly Characters[]
  readonly isAll: boolean
}

function prefixOf(node: PatternNode): Prefix {
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
export function startDistance(node: PatternNode): number {
  const { characters } = prefixOf(node)
  let distance = 1
  while (
    distance < Math.min(characters.length, MAX_DISTANCE) &&
    characters.slice(distance).some((each, at) => areDisjoint(each, characters[at] as Characters))
  )
    distance++
  return distance
}
