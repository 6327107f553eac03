import type { DispatchHeaders } from './dispatch.js'

const decodeText = (value: unknown): string =>
  value instanceof Uint8Array ? new TextDecoder('latin1').decode(value) : String(value)

/** Headers as old handlers get them, name and value in turns, as an object. */
export function parseRawHeaders(raw: unknown): DispatchHeaders {
  const headers: DispatchHeaders = {}
  if (!Array.isArray(raw)) return headers
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = decodeText(raw[i]).toLowerCase()
    const value = Array.isArray(raw[i + 1]) ? raw[i + 1].map(decodeText) : decodeText(raw[i + 1])
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat()
  }
  return headers
}

/** The other way round, for an old handler behind a new dispatcher that does not keep them. */
export function toRawHeaders(headers: DispatchHeaders): Uint8Array[] {
  const encoder = new TextEncoder()
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((one) => [encoder.encode(name), encoder.encode(one)]),
  )
}

/** The names and values of a request's headers: an object, a flat list, or anything that yields pairs. */
function headerPairs(headers: unknown): [string, unknown][] {
  if (Object(headers) !== headers) return []
  if (Array.isArray(headers) && !Array.isArray(headers[0]))
    return headers.flatMap((name, i) => (i % 2 === 0 ? [[decodeText(name), headers[i + 1]]] : []))
  const pairs =
    Symbol.iterator in (headers as object)
      ? (headers as Iterable<[unknown, unknown]>)
      : Object.entries(headers as object)
  return [...pairs].map(([name, value]) => [decodeText(name), value])
}

/** Whether a request has a header of that name, given in small letters. */
export const hasHeader = (headers: unknown, name: string): boolean =>
  headerPairs(headers).some(([key]) => key.toLowerCase() === name)

/** How long a request says that its body is; undefined where it does not. */
export function parseContentLength(headers: unknown): number | undefined {
  const contentLength = headerPairs(headers).find(([key]) => key.toLowerCase() === 'content-length')?.[1]
  return contentLength === undefined ? undefined : Number(decodeText(contentLength))
}

/** A request's headers with one more, as a flat list, which keeps those that are there twice. */
export const withHeader = (headers: unknown, name: string, value: string): unknown[] => [
  ...headerPairs(headers).flat(),
  name,
  value,
]

/** A request's headers with others in place of those of the same names, as a flat list. */
export function withHeaders(headers: unknown, others: readonly (readonly [string, string])[]): unknown[] {
  const names = new Set(others.map(([name]) => name.toLowerCase()))
  return [...headerPairs(headers).filter(([name]) => !names.has(name.toLowerCase())), ...others].flat()
}
