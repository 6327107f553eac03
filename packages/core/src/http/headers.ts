/**
 * Whether headers, in any form that fetch takes, have one of that name, which is given in small letters. It makes no
 * Headers of them, which would cost more than all the rest of a request.
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
