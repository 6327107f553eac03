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
import { formatValue } from '../problems/format-value.js'
import { type ConfigProblem, mismatch, type ProblemFacts, type TextPosition } from '../problems/problem.js'
import { maskVariables, unmaskVariables } from './mask.js'
import { findTooDeep, MAX_NESTING } from './nesting.js'

/** A parsed text: its value, and the position of each part. */
export interface SourceText {
  readonly value: unknown
  /** The position of the value at a path, or of its key; the nearest enclosing position where that is unknown. */
  locate(path: readonly string[], at?: 'key' | 'value'): TextPosition
}

/** A syntax error. */
export type SyntaxProblem = ConfigProblem & TextPosition

/** The maximum length of a config in characters. */
const MAX_TEXT_LENGTH = 16 * 1024 * 1024

/** The maximum number of nodes that aliases can expand to. */
const MAX_ALIAS_COUNT = 100

/** Parses YAML 1.2, which includes JSON. Syntax errors are returned as problems. */
export function parseText(text: string): SourceText | { problems: SyntaxProblem[] } {
  const lines = new LineCounter()
  const positionOf = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const rejectAt = (offset: number, facts: ProblemFacts) => ({
    problems: [{ path: '', ...facts, ...positionOf(offset) }],
  })
  lines.addNewLine(0)
  if (text.length > MAX_TEXT_LENGTH)
    return rejectAt(0, mismatch(`at most ${MAX_TEXT_LENGTH} characters`, `${text.length}`))
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  const control = CONTROL_CHARACTER.exec(text)
  if (control !== null) {
    const code = control[0].charCodeAt(0).toString(16).padStart(4, '0')
    return rejectAt(control.index, mismatch('text without control characters', `U+${code.toUpperCase()}`))
  }
  const masked = maskVariables(text)
  const tooDeepOffset = findTooDeep(masked)
  if (tooDeepOffset !== undefined)
    return rejectAt(
      tooDeepOffset,
      mismatch(`at most ${MAX_NESTING} levels`, 'more, which is nested too deeply'),
    )
  try {
    return parseYaml(masked, positionOf)
  } catch (error) {
    // The parser's error message is not used, because it may quote secrets of the text.
    const isAliasBomb = error instanceof ReferenceError
    return rejectAt(
      0,
      isAliasBomb
        ? mismatch(`aliases that expand to at most ${MAX_ALIAS_COUNT} nodes`, 'more')
        : notValidYaml(''),
    )
  }
}

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/

type PositionOf = (offset: number) => TextPosition

function parseYaml(text: string, positionOf: PositionOf): SourceText | { problems: SyntaxProblem[] } {
  // Duplicate keys are found below, because the parser compares each key with all others.
  const doc = parseDocument(text, { merge: true, prettyErrors: false, uniqueKeys: false, logLevel: 'error' })
  const problems = toSyntaxProblems([...doc.errors, ...doc.warnings], positionOf)
  const keys = new Map<YAMLMap, Map<string, Pair>>()
  indexKeys(doc.contents, keys, (node, facts) => {
    problems.push({ path: '', ...facts, ...positionOf(node.range?.[0] ?? 0) })
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

const notValidYaml = (reason: string): ProblemFacts => ({ code: 'syntax', expected: 'YAML', got: reason })

/** The problems of the parser's error codes. */
const SYNTAX_PROBLEMS: { readonly [code: string]: ProblemFacts } = {
  TAB_AS_INDENT: mismatch('spaces as indentation', 'a tab'),
  MULTIPLE_DOCS: mismatch('one document', 'several'),
}

/**
 * Converts the parser's errors without the text that they quote. After an unexpected token only the first error is useful.
 */
function toSyntaxProblems(
  errors: readonly { code: string; message: string; pos: readonly [number, number] }[],
  positionOf: PositionOf,
): SyntaxProblem[] {
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  return errors
    .filter(({ code }, i) => i === first || code !== 'UNEXPECTED_TOKEN')
    .map(({ code, message, pos }) => ({
      path: '',
      ...(SYNTAX_PROBLEMS[code] ?? notValidYaml(message.replace(/: ".*$/s, ''))),
      ...positionOf(pos[0]),
    }))
}

/** Indexes the pairs of every mapping by key, and reports duplicate keys and unknown aliases. */
function indexKeys(
  root: unknown,
  keys: Map<YAMLMap, Map<string, Pair>>,
  report: (at: Node, facts: ProblemFacts) => void,
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
        report(pair.key, mismatch('unique keys', `${formatValue(name)} twice`))
      pairByKey.set(name, pair)
    }
    keys.set(node as YAMLMap, pairByKey)
  }
  for (const alias of aliases)
    if (!anchors.has(alias.source))
      report(alias, mismatch('an alias of an existing anchor', 'an unknown alias'))
}
