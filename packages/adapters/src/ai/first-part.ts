import type { AiStreamResult } from './types.js'

/** Parts that a provider sends before the answer of the model. */
const PREAMBLE: ReadonlySet<string> = new Set(['stream-start', 'response-metadata', 'raw'])

/** A part of a stream, as far as it is read here. */
interface StreamPart {
  readonly type?: string
  readonly error?: unknown
}

/**
 * Waits for the first part of a model's answer and returns the stream from its beginning. A stream that fails before that part
 * rejects, so that the call can be retried: the caller has seen nothing of it.
 */
export async function waitForFirstPart<R extends AiStreamResult<unknown>>(
  result: R,
  signal: AbortSignal,
): Promise<R> {
  const reader = result.stream.getReader()
  const received: unknown[] = []
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => {})
  // A model can ignore the signal and respond after the timeout of its attempt.
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      received.push(value)
      const { type = '', error } = Object(value) as StreamPart
      if (type === 'error') throw error
      if (!PREAMBLE.has(type)) break
    }
  } catch (error) {
    cancel()
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
  }
  const stream = new ReadableStream<unknown>({
    async pull(controller) {
      if (received.length > 0) return controller.enqueue(received.shift())
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return { ...result, stream }
}
