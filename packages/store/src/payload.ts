import { HoldfastError } from 'holdfast'

/** Serializes a payload. @throws INVALID_OPTIONS if it has no JSON form */
export const serializePayload = (payload: unknown): string => serializeJson(payload, 'the payload')

/** Serializes a named value. @throws INVALID_OPTIONS if it has no JSON form */
export const serializeValue = (key: string, value: unknown): string =>
  serializeJson(value, `the value of ${key}`)

/** The plain data that a store returns for a payload. @throws INVALID_OPTIONS if it has no JSON form */
export const toJsonValue = (payload: unknown): unknown => JSON.parse(serializePayload(payload))

function serializeJson(value: unknown, subject: string): string {
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
      `${subject} cannot be written as JSON; expected plain data without cycles, functions and BigInts`,
      { cause },
    )
  return text
}

/**
 * JSON with sorted keys, so that two payloads with the same content have the same text. Like a store, it ignores everything that
 * JSON cannot represent.
 */
function canonicalJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  )
}

/** Whether two payloads are the same JSON, in any order of keys. */
export function isSamePayload(a: unknown, b: unknown): boolean {
  return a === b || canonicalJson(a) === canonicalJson(b)
}

/** The key that marks an encrypted payload. */
export const ENCRYPTED = '$sealed'

/** Whether a payload has the mark of an encrypted one, so that it cannot be compared without its key. */
export const isEncrypted = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && Object.hasOwn(payload, ENCRYPTED)
