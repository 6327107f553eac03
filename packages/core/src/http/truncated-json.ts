/**
 * Parses the beginning of a JSON object whose end is missing, up to its last complete value. Undefined for a text that does not
 * begin like an object, for an object that is complete, and for other texts.
 */
export function parseTruncatedObject(text: string): unknown {
  if (!/^\s*{/.test(text)) return undefined
  /** The missing brackets, innermost last. */
  const closers: string[] = []
  let isInString = false
  /** The position after the last complete value, and how many brackets are missing there. */
  let [end, depth] = [0, 0]
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string
    if (isInString) {
      if (character === '\\') i++
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (character === '{') closers.push('}')
    else if (character === '[') closers.push(']')
    else if (character === ',') [end, depth] = [i, closers.length]
    else if (character === '}' || character === ']') {
      if (closers.pop() !== character || closers.length === 0) return undefined
      ;[end, depth] = [i + 1, closers.length]
    }
  }
  try {
    return JSON.parse(text.slice(0, end) + closers.slice(0, depth).reverse().join(''))
  } catch {
    return undefined
  }
}
