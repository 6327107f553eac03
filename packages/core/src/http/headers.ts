/**
 * Whether headers, in any form that fetch accepts, contain a header. `name` is in lower case. It does not create a Headers
 * object, which would cost more than the rest of the request.
 */
export function hasHeader(headers: RequestInit['headers'], name: string): boolean {
  if (headers === undefined) return false
  if ('has' in headers && typeof headers.has === 'function') return headers.has(name)
  const names =
    Symbol.iterator in headers
      ? Array.from(headers as Iterable<string[]>, ([key]) => String(key))
      : Object.keys(headers)
  return names.some((key) => key.length === name.length && key.toLowerCase() === name)
}
