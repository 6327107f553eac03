import { CST, Lexer } from 'yaml'

/** The maximum nesting depth of a config. */
export const MAX_NESTING = 64

/**
 * The offset at which a text is nested too deeply, if there is one. The YAML parser is recursive, and a text of brackets
 * would exhaust the stack and end the process.
 */
export function findTooDeep(text: string): number | undefined {
  let offset = 0
  let flow = 0
  let inLine = 0
  const indents: number[] = []
  let isLineStart = true
  for (const token of new Lexer().lex(text)) {
    const kind = CST.tokenType(token)
    if (kind === 'newline') {
      isLineStart = true
      inLine = 0
    } else if (kind === 'flow-map-start' || kind === 'flow-seq-start') flow++
    else if (kind === 'flow-map-end' || kind === 'flow-seq-end') flow--
    else if (kind === 'seq-item-ind' || kind === 'explicit-key-ind') inLine++
    if (isLineStart && kind !== 'newline' && kind !== 'comment') {
      const indent = kind === 'space' ? token.length : 0
      while ((indents.at(-1) ?? -1) >= indent) indents.pop()
      indents.push(indent)
      isLineStart = false
    }
    if (flow + inLine + indents.length > MAX_NESTING) return offset
    if (!ZERO_WIDTH_TOKENS.has(token)) offset += token.length
  }
  return undefined
}

/** Tokens without a character in the text. */
const ZERO_WIDTH_TOKENS = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR])
