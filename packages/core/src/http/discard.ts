import { type Clock, nextMacrotask } from '../clock.js'

/** How much of a body is read to have its connection back; closing the connection is cheaper than reading more. */
export const MAX_DRAIN_BYTES = 65_536

/** How long a body may take to be read, in milliseconds: another attempt waits for it. */
export const MAX_DRAIN_MS = 100

/**
 * Reads the rest of an answer that nobody wants, so that its connection can be used again, or cancels it where that would
 * take long. A body that somebody else reads is left alone.
 */
export async function discardBody({ body, headers, url }: Response, clock: Clock): Promise<void> {
  if (typeof body?.getReader !== 'function') {
    // What is called like fetch may answer with a stream of Node.js, or with no more than it must.
    ;(body as { resume?(): void } | null | undefined)?.resume?.()
    return
  }
  if (body.locked) return
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  let remainingBytes = Number(headers?.get?.('content-length')) > MAX_DRAIN_BYTES ? 0 : MAX_DRAIN_BYTES
  // Cancelling ends a read that waits.
  const timer = clock.setTimer(cancel, MAX_DRAIN_MS)
  try {
    while (remainingBytes > 0) {
      const { done, value } = await reader.read()
      if (done) break
      remainingBytes -= (value as Uint8Array).byteLength
    }
    if (remainingBytes <= 0) cancel()
    // A connection is free a turn after its answer was read; what was made without one has no address.
    else if (url) await nextMacrotask()
  } catch {
    // The connection broke: that is an end too.
  } finally {
    clock.clearTimer(timer)
  }
}
