import { CST, Lexer } from 'yaml'

/** No config is nested as deeply as this. */
const MAX_NESTING = 64

/**
 * Where a text is nested too deeply to be read, if it is. The reader of YAML calls itself for every level, and a text of
 * brackets would end the process before anything could be caught.
 */
export function findTooDeep(text: string): number | undefined {
  let offset = 0
  let flow = 0
  let inLine = 0
  const indents: number[] = []
  let atStart = true
  for (const token of new Lexer().lex(text)) {
    const kind = CST.tokenType(token)
    if (kind === 'newline') {
      atStart = true
      inLine = 0
    } else if (kind === 'flow-map-start' || kind === 'flow-seq-start') flow++
    else if (kind === 'flow-map-end' || kind === 'flow-seq-end') flow--
    else if (kind === 'seq-item-ind' || kind === 'explicit-key-ind') inLine++
    if (atStart && kind !== 'newline' && kind !== 'comment') {
      const indent = kind === 'space' ? token.length : 0
      while ((indents.at(-1) ?? -1) >= indent) indents.pop()
      indents.push(indent)
      atStart = false
    }
    if (flow + inLine + indents.length > MAX_NESTING) return offset
    if (!ZERO_WIDTH_TOKENS.has(token)) offset += token.length
  }
  return undefined
}

/** Tokens that stand for no character of the text. */
const ZERO_WIDTH_TOKENS = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR])
