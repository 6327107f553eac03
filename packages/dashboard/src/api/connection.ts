import { signal } from '@preact/signals'

export type ConnectionState =
  | { state: 'connecting' | 'live' }
  | { state: 'lost'; since: number; again: number }

/** How the page stands with the server. */
export const connection = signal<ConnectionState>({ state: 'connecting' })

/** Grows each time a lost connection is found again: what is shown is loaded anew then. */
export const recoveries = signal(0)

export function markConnected(): void {
  if (connection.peek().state === 'lost') recoveries.value++
  connection.value = { state: 'live' }
}
