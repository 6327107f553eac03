import { HoldfastError } from 'holdfast'

/** Deeper than this nothing that a person or a program means is nested, and stacks begin to run out. */
const DEEPEST = 500

const step = (key: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

/** What a value that JSON cannot say is called; undefined for one that it can, or that may hold others. */
function misfit(value: unknown): string | undefined {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return `a ${typeof value}`
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  // JSON makes {} of a Map and of an Error: what they hold would be lost without a word.
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return tag === 'Object' ? undefined : `a value of type ${tag}`
}

/** What is wrong with a value that is to be JSON, beginning with the path to it; undefined where nothing is. */
function problemOf(given: unknown, path: string, key: string, above: object[]): string | undefined {
  let value = given
  const own = (value as { toJSON?: unknown } | null | undefined)?.toJSON
  if (typeof own === 'function') value = own.call(value, key)
  const wrong = misfit(value)
  if (wrong !== undefined) return `${path}: got ${wrong}, takes JSON`
  if (typeof value !== 'object' || value === null) return undefined
  if (above.includes(value)) return `${path}: is circular, it holds itself; takes JSON`
  if (above.length >= DEEPEST) return `${path.slice(0, 40)}…: is nested deeper than ${DEEPEST} levels`
  above.push(value)
  let found: string | undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && found === undefined; index++)
      found =
        value[index] === undefined
          ? `${path}[${index}]: got undefined, takes JSON`
          : problemOf(value[index], `${path}[${index}]`, String(index), above)
  } else {
    for (const [name, held] of Object.entries(value)) {
      if (found !== undefined) break
      found = problemOf(held, path + step(name), name, above)
    }
  }
  above.pop()
  return found
}

/**
 * A payload as it will be stored: a copy that shares nothing with what was given. Values with a `toJSON`, such as dates,
 * are what that says; properties that are undefined are absent.
 *
 * @throws INVALID_OPTIONS with the path to what is not JSON, PAYLOAD_TOO_LARGE
 */
export function readPayload(payload: unknown, operation: string, maxPayload: number): unknown {
  const refuse = (problem: string, cause?: unknown) =>
    new HoldfastError('INVALID_OPTIONS', `the payload of ${operation} cannot be kept: ${problem}`, {
      details: [problem],
      ...(cause !== undefined && { cause }),
    })
  if (payload === undefined || payload === null) throw refuse(`payload: got ${payload}, takes any other JSON`)
  let json: string | undefined
  try {
    const problem = problemOf(payload, 'payload', '', [])
    if (problem !== undefined) throw refuse(problem)
    json = JSON.stringify(payload)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw refuse('payload: it throws while it is read, takes JSON', error)
  }
  if (json === undefined || json === 'null') throw refuse('payload: is nothing as JSON')
  const size = Buffer.byteLength(json)
  if (size > maxPayload)
    throw new HoldfastError(
      'PAYLOAD_TOO_LARGE',
      `the payload of ${operation} is ${size} bytes of JSON, and dead_letters.max_payload is ${maxPayload}: keep a reference to it instead, or raise the limit`,
    )
  return JSON.parse(json)
}
