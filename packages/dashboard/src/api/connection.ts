import { signal } from '@preact/signals'

export type ConnectionState =
  | { state: 'connecting' | 'live' }
  | { state: 'lost'; since: number; reconnectAt: number }

/** The connection of the page to the server. */
export const connection = signal<ConnectionState>({ state: 'connecting' })

/** Increases with each recovered connection; queries depend on it and are loaded again. */
export const recoveries = signal(0)

export function markConnected(): void {
  if (connection.peek().state === 'lost') recoveries.value++
  connection.value = { state: 'live' }
}
