import { HoldfastError } from 'holdfast'

/** A signal that is aborted, with a reason that says why, when the client leaves or the server ends; `done` lets go of both. */
export function createRequestSignal(
  client: AbortSignal,
  ending: AbortSignal,
): { signal: AbortSignal; done(): void } {
  const controller = new AbortController()
  const left = () =>
    controller.abort(new HoldfastError('CANCELLED', 'the client disconnected before the response'))
  const ended = () => controller.abort(ending.reason)
  client.addEventListener('abort', left)
  ending.addEventListener('abort', ended)
  if (client.aborted) left()
  else if (ending.aborted) ended()
  return {
    signal: controller.signal,
    done() {
      client.removeEventListener('abort', left)
      ending.removeEventListener('abort', ended)
    },
  }
}
