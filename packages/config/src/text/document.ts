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
import { formatValue, type TextPosition } from '../problem.js'
import { maskVariables, unmaskVariables } from './mask.js'
import { findTooDeep } from './nesting.js'

/** A text that was read: its value, and where each part of it stands. */
export interface SourceText {
  readonly value: unknown
  /** Where the value at a path stands, or its key; the nearest place above where it cannot be told. */
  locate(path: readonly string[], at?: 'key' | 'value'): TextPosition
}

/** What is wrong with the text itself. */
export interface SyntaxProblem extends TextPosition {
  readonly message: string
}

/** No config is larger than this. */
const MAX_TEXT_LENGTH = 16 * 1024 * 1024

/** Aliases may not multiply a text beyond this. */
const MAX_ALIAS_COUNT = 100

/** Reads YAML 1.2, of which JSON is a part. What cannot be read is told as problems. */
export function parseText(text: string): SourceText | { problems: SyntaxProblem[] } {
  const lines = new LineCounter()
  const positionOf = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const rejectAt = (offset: number, message: string) => ({ problems: [{ ...positionOf(offset), message }] })
  lines.addNewLine(0)
  if (text.length > MAX_TEXT_LENGTH)
    return rejectAt(0, `got ${text.length} characters, takes ${MAX_TEXT_LENGTH} at the most`)
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  const control = CONTROL_CHARACTER.exec(text)
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).padStart(4, '0')
    return rejectAt(
      control.index,
      `got the control character U+${code.toUpperCase()}, takes text without any`,
    )
  }
  const masked = maskVariables(text)
  const tooDeepOffset = findTooDeep(masked)
  if (tooDeepOffset !== undefined) return rejectAt(tooDeepOffset, 'is nested too deeply')
  try {
    return parseYaml(masked, positionOf)
  } catch (error) {
    // Of what the reader throws nothing is passed on: it may quote the text.
    const isAliasBomb = error instanceof ReferenceError
    return rejectAt(
      0,
      isAliasBomb
        ? `has aliases that stand for more than ${MAX_ALIAS_COUNT} parts`
        : 'cannot be read as YAML',
    )
  }
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/

type PositionOf = (offset: number) => TextPosition

function parseYaml(text: string, positionOf: PositionOf): SourceText | { problems: SyntaxProblem[] } {
  // Duplicates are looked for below: the reader compares each key with all others.
  const doc = parseDocument(text, { merge: true, prettyErrors: false, uniqueKeys: false, logLevel: 'error' })
  const problems = toSyntaxProblems([...doc.errors, ...doc.warnings], positionOf)
  const keys = new Map<YAMLMap, Map<string, Pair>>()
  indexKeys(doc.contents, keys, (node, message) => {
    problems.push({ ...positionOf(node.range?.[0] ?? 0), message })
  })
  if (problems.length > 0) return { problems }
  const value = unmaskVariables(doc.toJS({ maxAliasCount: MAX_ALIAS_COUNT }))
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
      return positionOf(start)
    },
  }
}

/** What the reader says, in words that need no knowledge of it. */
const SYNTAX_MESSAGES: { readonly [code: string]: string } = {
  TAB_AS_INDENT: 'a tab cannot indent, takes spaces',
  MULTIPLE_DOCS: 'got several documents, takes one',
}

/** What the reader complains of, without what it quotes. After one thing that it did not expect it expects nothing. */
function toSyntaxProblems(
  errors: readonly { code: string; message: string; pos: readonly [number, number] }[],
  positionOf: PositionOf,
): SyntaxProblem[] {
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  return errors
    .filter(({ code }, i) => i === first || code !== 'UNEXPECTED_TOKEN')
    .map(({ code, message, pos }) => ({
      ...positionOf(pos[0]),
      message: SYNTAX_MESSAGES[code] ?? `cannot be read as YAML: ${message.replace(/: ".*$/s, '')}`,
    }))
}

/** Notes the pairs of every mapping by their key, and tells of keys and aliases that are wrong. */
function indexKeys(
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
    const pairByKey = new Map<string, Pair>()
    for (const pair of node.items) {
      open.push(pair.key, pair.value)
      if (!isScalar(pair.key)) continue
      const name = String(unmaskVariables(pair.key.value))
      if (pairByKey.has(name) && name !== '<<')
        problem(pair.key, `${formatValue(name)} is there twice, takes each key once`)
      pairByKey.set(name, pair)
    }
    keys.set(node as YAMLMap, pairByKey)
  }
  for (const alias of aliases)
    if (!anchors.has(alias.source)) problem(alias, 'is an alias of nothing, takes one whose anchor is there')
}
