import { HoldfastError } from 'holdfast'

/** Deeper than this nothing that a person or a program means is nested, and stacks begin to run out. */
const MAX_DEPTH = 500

const formatPathSegment = (key: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

/** What a value that JSON cannot say is called; undefined for one that it can, or that may hold others. */
function nonJsonName(value: unknown): string | undefined {
  if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
    return `a ${typeof value}`
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  // JSON makes {} of a Map and of an Error: what they hold would be lost without a word.
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  return tag === 'Object' ? undefined : `a value of type ${tag}`
}

/** What is wrong with a value that is to be JSON, beginning with the path to it; undefined where nothing is. */
function findProblem(input: unknown, path: string, key: string, ancestors: object[]): string | undefined {
  let value = input
  const own = (value as { toJSON?: unknown } | null | undefined)?.toJSON
  if (typeof own === 'function') value = own.call(value, key)
  const nonJson = nonJsonName(value)
  if (nonJson !== undefined) return `${path}: got ${nonJson}, takes JSON`
  if (typeof value !== 'object' || value === null) return undefined
  if (ancestors.includes(value)) return `${path}: is circular, it holds itself; takes JSON`
  if (ancestors.length >= MAX_DEPTH) return `${path.slice(0, 40)}…: is nested deeper than ${MAX_DEPTH} levels`
  ancestors.push(value)
  let found: string | undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && found === undefined; index++)
      found =
        value[index] === undefined
          ? `${path}[${index}]: got undefined, takes JSON`
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
 * A payload as it will be stored: a copy that shares nothing with what was given. Values with a `toJSON`, such as dates,
 * are what that says; properties that are undefined are absent.
 *
 * @throws INVALID_OPTIONS with the path to what is not JSON, PAYLOAD_TOO_LARGE
 */
export function parsePayload(payload: unknown, operation: string, maxPayload: number): unknown {
  const reject = (problem: string, cause?: unknown) =>
    new HoldfastError('INVALID_OPTIONS', `the payload of ${operation} cannot be kept: ${problem}`, {
      details: [problem],
      ...(cause !== undefined && { cause }),
    })
  if (payload === undefined || payload === null) throw reject(`payload: got ${payload}, takes any other JSON`)
  let json: string | undefined
  try {
    const problem = findProblem(payload, 'payload', '', [])
    if (problem !== undefined) throw reject(problem)
    json = JSON.stringify(payload)
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    throw reject('payload: it throws while it is read, takes JSON', error)
  }
  if (json === undefined || json === 'null') throw reject('payload: is nothing as JSON')
  const size = Buffer.byteLength(json)
  if (size > maxPayload)
    throw new HoldfastError(
      'PAYLOAD_TOO_LARGE',
      `the payload of ${operation} is ${size} bytes of JSON, and dead_letters.max_payload is ${maxPayload}: keep a reference to it instead, or raise the limit`,
    )
  return JSON.parse(json)
}
