/** Characters that mean something to YAML, as others that do not, one for one, so that places stay what they are. */
const SPECIAL = '{}[],:# '
const FIRST = 0xe7f0
const MASKED = new RegExp(`[\\u${FIRST.toString(16)}-\\u${(FIRST + SPECIAL.length - 1).toString(16)}]`, 'g')

/**
 * A text in which `${VAR}` is nothing but letters to YAML. Otherwise `{ port: ${PORT} }` would be a mapping in a mapping.
 */
export function mask(text: string): string {
  if (!text.includes('${') || text.search(MASKED) >= 0) return text
  return text.replace(/\$\{[a-z_]\w*(?::-[^}\n"']*)?\}/gi, (whole) =>
    whole.replace(/[{}[\],:# ]/g, (special) => String.fromCharCode(FIRST + SPECIAL.indexOf(special))),
  )
}

const unmaskText = (text: string): string =>
  text.replace(MASKED, (character) => SPECIAL[character.charCodeAt(0) - FIRST] as string)

/** Undoes it in all the texts of a value, in place. What the value holds twice, or within itself, is visited once. */
export function unmask(value: unknown): unknown {
  if (typeof value === 'string') return unmaskText(value)
  const seen = new Set<unknown>()
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null || seen.has(next)) continue
    seen.add(next)
    for (const [key, held] of Object.entries(next)) {
      if (typeof held === 'string') {
        const text = unmaskText(held)
        if (text !== held && key !== '__proto__') (next as Record<string, unknown>)[key] = text
      } else open.push(held)
    }
  }
  return value
}
