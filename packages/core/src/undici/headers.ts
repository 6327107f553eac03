import type { DispatchHeaders } from './dispatch.js'

const decodeText = (value: unknown): string =>
  value instanceof Uint8Array ? new TextDecoder('latin1').decode(value) : String(value)

/** Parses the raw headers of legacy handlers, a flat list of names and values. */
export function parseRawHeaders(raw: unknown): DispatchHeaders {
  const headers: DispatchHeaders = {}
  if (!Array.isArray(raw)) return headers
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = decodeText(raw[i]).toLowerCase()
    const value = Array.isArray(raw[i + 1]) ? raw[i + 1].map(decodeText) : decodeText(raw[i + 1])
    const existing = headers[name]
    headers[name] = existing === undefined ? value : [existing, value].flat()
  }
  return headers
}

/** A Buffer where there is one, because legacy handlers such as that of fetch call its `toString('latin1')`. */
function encodeText(text: string): Uint8Array {
  const { Buffer } = globalThis as { Buffer?: { from(text: string): Uint8Array } }
  return Buffer === undefined ? new TextEncoder().encode(text) : Buffer.from(text)
}

/** Converts headers to a flat list, for a legacy handler when the dispatcher does not provide the raw headers. */
export const toRawHeaders = (headers: DispatchHeaders): Uint8Array[] =>
  Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((item) => [encodeText(name), encodeText(item)]),
  )

/** The names and values of the headers of a request: an object, a flat list, or an iterable of pairs. */
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

/** Whether a request has a header; `name` is in lower case. */
export const hasHeader = (headers: unknown, name: string): boolean =>
  headerPairs(headers).some(([key]) => key.toLowerCase() === name)

/** The content-length of a request; undefined if it has none. */
export function parseContentLength(headers: unknown): number | undefined {
  const contentLength = headerPairs(headers).find(([key]) => key.toLowerCase() === 'content-length')?.[1]
  return contentLength === undefined ? undefined : Number(decodeText(contentLength))
}

/** Adds a header, as a flat list, which preserves repeated headers. */
export const withHeader = (headers: unknown, name: string, value: string): unknown[] => [
  ...headerPairs(headers).flat(),
  name,
  value,
]

/** Adds headers and replaces those of the same names, as a flat list. */
export function withHeaders(headers: unknown, added: readonly (readonly [string, string])[]): unknown[] {
  const names = new Set(added.map(([name]) => name.toLowerCase()))
  return [...headerPairs(headers).filter(([name]) => !names.has(name.toLowerCase())), ...added].flat()
}
