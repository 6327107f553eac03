import { HoldfastError } from 'holdfast'
import { createOptionsError, createProblem, type OptionProblem } from 'holdfast/internal'

/** The maximum depth of a payload. Real data is never nested this deeply, and recursion would exhaust the stack. */
const MAX_DEPTH = 500

const formatPathSegment = (key: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

/** Names a value that JSON cannot represent; undefined for all other values. */
function nonJsonName(value: unknown): string | undefined {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return `a ${typeof value}`
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  // JSON turns a Map or an Error into {}, which would silently lose its content.
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return tag === 'Object' ? undefined : `a value of type ${tag}`
}

const jsonProblem = (path: string, got: string, expected = 'JSON') =>
  createProblem(path, 'invalid', expected, got)

/** The problem of a value that cannot be JSON; undefined where it can. */
function findProblem(
  input: unknown,
  path: string,
  key: string,
  ancestors: object[],
): OptionProblem | undefined {
  let value = input
  const own = (value as { toJSON?: unknown } | null | undefined)?.toJSON
  if (typeof own === 'function') value = own.call(value, key)
  const nonJson = nonJsonName(value)
  if (nonJson !== undefined) return jsonProblem(path, nonJson)
  if (typeof value !== 'object' || value === null) return undefined
  if (ancestors.includes(value)) return jsonProblem(path, 'a circular reference')
  if (ancestors.length >= MAX_DEPTH)
    return jsonProblem(`${path.slice(0, 40)}…`, 'more', `at most ${MAX_DEPTH} levels`)
  ancestors.push(value)
  let found: OptionProblem | undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && found === undefined; index++)
      found =
        value[index] === undefined
          ? jsonProblem(`${path}[${index}]`, 'undefined')
          : findProblem(value[index], `${path}[${index}]`, String(index), ancestors)
  } else {
    for (const [name, child] of Object.entries(value)) {
      if (found !== undefined) break
      found = findProblem(child, path + formatPathSegment(name), name, ancestors)
    }
  }
  ancestors.pop()
  return found
}

/**
 * Returns the payload in its stored form: a copy that shares nothing with the input. A value with a `toJSON` method, such
 * as a date, is replaced by its result; properties that are undefined are omitted.
 *
 * @throws INVALID_OPTIONS with the path of the value that is not JSON, PAYLOAD_TOO_LARGE
 */
export function parsePayload(payload: unknown, operation: string, maxPayload: number): unknown {
  const reject = (problem: OptionProblem, cause?: unknown) =>
    Object.assign(
      createOptionsError(`the payload of ${operation} cannot be stored`, [problem]),
      cause !== undefined && { cause },
    )
  if (payload === undefined || payload === null)
    throw reject(jsonProblem('payload', `${payload}`, 'JSON other than null'))
  let json: string | undefined
  try {
    const problem = findProblem(payload, 'payload', '', [])
    if (problem !== undefined) throw reject(problem)
    json = JSON.stringify(payload)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw reject(jsonProblem('payload', 'a value that throws when it is read'), error)
  }
  if (json === undefined || json === 'null')
    throw reject(jsonProblem('payload', 'a value that serializes to nothing', 'JSON other than null'))
  const size = Buffer.byteLength(json)
  if (size > maxPayload)
    throw new HoldfastError(
      'PAYLOAD_TOO_LARGE',
      `the payload of ${operation} has ${size} bytes of JSON, and the limit dead_letters.max_payload is ${maxPayload}: store a reference to it instead, or raise the limit`,
    )
  return JSON.parse(json)
}
