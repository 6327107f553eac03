import { type Clock, nextMacrotask } from '../clock.js'

/** The number of bytes of a body that are read to reuse its connection; closing it is cheaper than reading more. */
export const MAX_DRAIN_BYTES = 65_536

/** The time limit for reading a body, because the next attempt waits for it. */
export const MAX_DRAIN_MS = 100

/**
 * Reads the rest of an unused response, so that its connection can be reused, or cancels it when that would take long. A
 * locked body has another reader and is not touched.
 */
export async function discardBody({ body, headers, url }: Response, clock: Clock): Promise<void> {
  if (typeof body?.getReader !== 'function') {
    // A custom fetch can return a Node.js stream as body, or an incomplete Response.
    ;(body as { resume?(): void } | null | undefined)?.resume?.()
    return
  }
  if (body.locked) return
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  let remainingBytes = Number(headers?.get?.('content-length')) > MAX_DRAIN_BYTES ? 0 : MAX_DRAIN_BYTES
  // Cancelling also ends a pending read.
  const timer = clock.setTimer(cancel, MAX_DRAIN_MS)
  try {
    while (remainingBytes > 0) {
      const { done, value } = await reader.read()
      if (done) break
      remainingBytes -= (value as Uint8Array).byteLength
    }
    if (remainingBytes <= 0) cancel()
    // A connection is free one macrotask after its response was read. A response without a connection has no URL.
    else if (url) await nextMacrotask()
  } catch {
    // The connection was lost, so there is nothing left to read.
  } finally {
    clock.clearTimer(timer)
  }
}
