import { HoldfastError } from 'holdfast'

/** Creates a signal that is aborted when the client disconnects or the server closes. `done` removes the listeners. */
export function createRequestSignal(
  client: AbortSignal,
  ending: AbortSignal,
): { signal: AbortSignal; done(): void } {
  const controller = new AbortController()
  const onDisconnect = () =>
    controller.abort(new HoldfastError('CANCELLED', 'the client disconnected before the response'))
  const onClose = () => controller.abort(ending.reason)
  client.addEventListener('abort', onDisconnect)
  ending.addEventListener('abort', onClose)
  if (client.aborted) onDisconnect()
  else if (ending.aborted) onClose()
  return {
    signal: controller.signal,
    done() {
      client.removeEventListener('abort', onDisconnect)
      ending.removeEventListener('abort', onClose)
    },
  }
}
