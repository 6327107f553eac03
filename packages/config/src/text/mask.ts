/** Characters that are special in YAML. Each is replaced by one ordinary character, so that positions do not change. */
const SPECIAL_CHARACTERS = '{}[],:# '
const FIRST_MASK_CODE = 0xe7f0
const MASKED_PATTERN = new RegExp(
  `[\\u${FIRST_MASK_CODE.toString(16)}-\\u${(FIRST_MASK_CODE + SPECIAL_CHARACTERS.length - 1).toString(16)}]`,
  'g',
)

/** Masks `${VAR}` so that YAML reads it as plain text. Otherwise `{ port: ${PORT} }` would be a mapping in a mapping. */
export function maskVariables(text: string): string {
  if (!text.includes('${') || text.search(MASKED_PATTERN) >= 0) return text
  return text.replace(/\$\{[a-z_]\w*(?::-[^}\n"']*)?\}/gi, (whole) =>
    whole.replace(/[{}[\],:# ]/g, (special) =>
      String.fromCharCode(FIRST_MASK_CODE + SPECIAL_CHARACTERS.indexOf(special)),
    ),
  )
}

const unmaskText = (text: string): string =>
  text.replace(
    MASKED_PATTERN,
    (character) => SPECIAL_CHARACTERS[character.charCodeAt(0) - FIRST_MASK_CODE] as string,
  )

/** Unmasks all strings of a value in place. A value that occurs twice, or contains itself, is visited once. */
export function unmaskVariables(value: unknown): unknown {
  if (typeof value === 'string') return unmaskText(value)
  const seen = new Set<unknown>()
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null || seen.has(next)) continue
    seen.add(next)
    for (const [key, value] of Object.entries(next)) {
      if (typeof value === 'string') {
        const text = unmaskText(value)
        if (text !== value && key !== '__proto__') (next as Record<string, unknown>)[key] = text
      } else open.push(value)
    }
  }
  return value
}
