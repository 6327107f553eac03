import { computed, signal } from '@preact/signals'

export type ConnectionState =
  | { state: 'connecting' | 'live' }
  | { state: 'lost'; since: number; reconnectAt: number }

/** The connection of the page to the server. */
export const connection = signal<ConnectionState>({ state: 'connecting' })

/** Whether the connection is lost. Actions are disabled then, because they would fail. */
export const isOffline = computed(() => connection.value.state === 'lost')

/** Increases with each recovered connection; queries depend on it and are loaded again. */
export const recoveries = signal(0)

export function markConnected(): void {
  if (connection.peek().state === 'lost') recoveries.value++
  connection.value = { state: 'live' }
}
