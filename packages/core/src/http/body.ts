/** A body as fetch takes it, or a function that makes one for each attempt. */
export type FetchBody = RequestInit['body'] | (() => RequestInit['body'] | Promise<RequestInit['body']>)

const isStream = (body: unknown): body is ReadableStream =>
  typeof (body as ReadableStream | null)?.getReader === 'function'

/** Whether a body is gone once it was read: a stream, or anything else that is iterated piece by piece. */
export function isOneShot(body: unknown): boolean {
  return typeof body === 'object' && body !== null && (isStream(body) || Symbol.asyncIterator in body)
}

/** Whether a body can be sent (again): it is no stream, or one of which nothing was read. */
export function canSendBody(body: unknown): boolean {
  return !isOneShot(body) || (isStream(body) && !body.locked && isUnreadStream(body))
}

/** Streams do not tell whether they were read; what is made of one refuses those that were. */
function isUnreadStream(stream: ReadableStream): boolean {
  try {
    return new Response(stream).body !== null
  } catch {
    return false
  }
}
