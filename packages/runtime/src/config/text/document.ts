import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml'
import { type Place, show } from '../problem.js'
import { mask, unmask } from './mask.js'
import { tooDeepAt } from './nesting.js'

/** A text that was read: its value, and where each part of it stands. */
export interface SourceText {
  readonly value: unknown
  /** Where the value at a path stands, or its key; the nearest place above where it cannot be told. */
  locate(path: readonly string[], at?: 'key' | 'value'): Place
}

/** What is wrong with the text itself. */
export interface SyntaxProblem extends Place {
  readonly message: string
}

/** No config is larger than this. */
const LARGEST = 16 * 1024 * 1024

/** Aliases may not multiply a text beyond this. */
const ALIASES = 100

/** Reads YAML 1.2, of which JSON is a part. What cannot be read is told as problems. */
export function readText(text: string): SourceText | { problems: SyntaxProblem[] } {
  const lines = new LineCounter()
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const refuse = (offset: number, message: string) => ({ problems: [{ ...place(offset), message }] })
  lines.addNewLine(0)
  if (text.length > LARGEST) return refuse(0, `got ${text.length} characters, takes ${LARGEST} at the most`)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  const control = CONTROL.exec(text)
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).padStart(4, '0')
    return refuse(control.index, `got the control character U+${code.toUpperCase()}, takes text without any`)
  }
  const masked = mask(text)
  const deep = tooDeepAt(masked)
  if (deep !== undefined) return refuse(deep, 'is nested too deeply')
  try {
    return readDocument(masked, place)
  } catch (error) {
    // Of what the reader throws nothing is passed on: it may quote the text.
    const bomb = error instanceof ReferenceError
    return refuse(
      0,
      bomb ? `has aliases that stand for more than ${ALIASES} parts` : 'cannot be read as YAML',
    )
  }
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/

type PlaceOf = (offset: number) => Place

function readDocument(text: string, place: PlaceOf): SourceText | { problems: SyntaxProblem[] } {
  // Duplicates are looked for below: the reader compares each key with all others.
  const doc = parseDocument(text, { merge: true, prettyErrors: false, uniqueKeys: false, logLevel: 'error' })
  const problems = syntaxErrors([...doc.errors, ...doc.warnings], place)
  const keys = new Map<YAMLMap, Map<string, Pair>>()
  index(doc.contents, keys, (node, message) => {
    problems.push({ ...place(node.range?.[0] ?? 0), message })
  })
  if (problems.length > 0) return { problems }
  const value = unmask(doc.toJS({ maxAliasCount: ALIASES }))
  return {
    value,
    locate(path, at = 'value') {
      let node: unknown = doc.contents
      let start = 0
      for (const [i, step] of path.entries()) {
        const pair = isMap(node) ? keys.get(node as YAMLMap)?.get(step) : undefined
        const next = pair ? pair.value : isSeq(node) ? node.items[Number(step)] : undefined
        const key = pair?.key as Node | undefined
        const wanted = at === 'key' && i === path.length - 1 ? key : ((next as Node | null) ?? key)
        const offset = (wanted as Node | undefined)?.range?.[0] ?? key?.range?.[0]
        if (offset === undefined) break
        start = offset
        node = next
      }
      return place(start)
    },
  }
}

/** What the reader says, in words that need no knowledge of it. */
const MESSAGES: { readonly [code: string]: string } = {
  TAB_AS_INDENT: 'a tab cannot indent, takes spaces',
  MULTIPLE_DOCS: 'got several documents, takes one',
}

/** What the reader complains of, without what it quotes. After one thing that it did not expect it expects nothing. */
function syntaxErrors(
  errors: readonly { code: string; message: string; pos: readonly [number, number] }[],
  place: PlaceOf,
): SyntaxProblem[] {
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  return errors
    .filter(({ code }, i) => i === first || code !== 'UNEXPECTED_TOKEN')
    .map(({ code, message, pos }) => ({
      ...place(pos[0]),
      message: MESSAGES[code] ?? `cannot be read as YAML: ${message.replace(/: ".*$/s, '')}`,
    }))
}

/** Notes the pairs of every mapping by their key, and tells of keys and aliases that are wrong. */
function index(
  root: unknown,
  keys: Map<YAMLMap, Map<string, Pair>>,
  problem: (at: Node, message: string) => void,
): void {
  const open: unknown[] = [root]
  const anchors = new Set<string>()
  const aliases: Alias[] = []
  while (open.length > 0) {
    const node = open.pop()
    if (isAlias(node)) {
      aliases.push(node)
      continue
    }
    if (isNode(node) && node.anchor !== undefined) anchors.add(node.anchor)
    if (isSeq(node)) for (const item of node.items) open.push(item)
    if (!isMap(node)) continue
    const known = new Map<string, Pair>()
    for (const pair of node.items) {
      open.push(pair.key, pair.value)
      if (!isScalar(pair.key)) continue
      const name = String(unmask(pair.key.value))
      if (known.has(name) && name !== '<<')
        problem(pair.key, `${show(name)} is there twice, takes each key once`)
      known.set(name, pair)
    }
    keys.set(node as YAMLMap, known)
  }
  for (const alias of aliases)
    if (!anchors.has(alias.source)) problem(alias, 'is an alias of nothing, takes one whose anchor is there')
}
