/** A body of fetch, or a function that creates one for each attempt. */
export type FetchBody = RequestInit['body'] | (() => RequestInit['body'] | Promise<RequestInit['body']>)

const isStream = (body: unknown): body is ReadableStream =>
  typeof (body as ReadableStream | null)?.getReader === 'function'

/** Whether a body can be read only once: a stream or another async iterable. */
export function isOneShot(body: unknown): boolean {
  return typeof body === 'object' && body !== null && (isStream(body) || Symbol.asyncIterator in body)
}

/** Whether a body can be sent (again): it can be read repeatedly, or it is an unread stream. */
export function canSendBody(body: unknown): boolean {
  return !isOneShot(body) || (isStream(body) && !body.locked && isUnreadStream(body))
}

/** A stream has no property for whether it was read, but the Response constructor rejects one that was. */
function isUnreadStream(stream: ReadableStream): boolean {
  try {
    return new Response(stream).body !== null
  } catch {
    return false
  }
}
