import { HoldfastError } from 'holdfast'

/** A payload as JSON. */
export const serializePayload = (payload: unknown): string => serializeJson(payload, 'the payload')

/** A named value as JSON. */
export const serializeValue = (key: string, value: unknown): string =>
  serializeJson(value, `the value of ${key}`)

function serializeJson(value: unknown, what: string): string {
  let text: string | undefined
  let cause: unknown
  try {
    text = JSON.stringify(value)
  } catch (error) {
    cause = error
  }
  if (text === undefined)
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `${what} cannot be written as JSON; hand in plain data without cycles, functions and BigInts`,
      { cause },
    )
  return text
}

/**
 * JSON in one form: keys sorted, so that two payloads that mean the same are the same text. It is what a store would
 * have kept of the value.
 */
function canonicalJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_, held: unknown) =>
    typeof held === 'object' && held !== null && !Array.isArray(held)
      ? Object.fromEntries(Object.entries(held).sort(([a], [b]) => (a < b ? -1 : 1)))
      : held,
  )
}

/** Whether two payloads are the same JSON, whatever the order of their keys. */
export function isSamePayload(a: unknown, b: unknown): boolean {
  return a === b || canonicalJson(a) === canonicalJson(b)
}

/** Marks a payload that is not stored as it was given. */
export const ENCRYPTED = '$sealed'

/** Whether a payload is not stored as it was given, so that only whoever has its key can tell what it is. */
export const isEncrypted = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && Object.hasOwn(payload, ENCRYPTED)
