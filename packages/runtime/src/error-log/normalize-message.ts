/** How many characters of a message are compared. Messages of other systems can be long. */
const MAX_MESSAGE_LENGTH = 300

/**
 * The parts of a message that differ from one occurrence to the next, the most specific first. Each pattern reads a text once
 * from left to right, because messages come from other systems.
 */
const VARIABLE_PARTS: readonly (readonly [pattern: RegExp, placeholder: string])[] = [
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, '<uuid>'],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?/g, '<time>'],
  [/\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d{1,5})?\b/g, '<address>'],
  [/\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}\b/g, '<email>'],
  [/\b0x[\da-f]+\b/gi, '<hex>'],
  // A word has no digits, and a name such as sha256 has them at one place.
  [/(?<![a-z\d])(?=[a-z]*\d)[\da-f]{12,}(?![a-z\d])/gi, '<hex>'],
  [/(?<![a-z\d])(?=[a-z]*\d+[a-z]+\d)[a-z\d]{6,}(?![a-z\d])/gi, '<id>'],
]

/** A number, also in a name such as `order-12` or `user_7`. */
const NUMBER = /\d+(?:\.\d+)?/g

/**
 * A message without the parts that differ from one occurrence to the next, so that occurrences of one error have the same
 * text. The HTTP status stays, because another status is another error.
 */
export function normalizeMessage(message: string, httpStatus?: number | null): string {
  let text = message.slice(0, MAX_MESSAGE_LENGTH)
  for (const [pattern, placeholder] of VARIABLE_PARTS) text = text.replace(pattern, placeholder)
  const status = httpStatus == null ? undefined : String(httpStatus)
  return text.replace(NUMBER, (number) => (number === status ? number : '<n>')).trim()
}
