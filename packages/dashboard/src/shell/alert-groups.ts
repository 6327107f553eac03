import type { WireErrorRecord } from '../api/types.js'
import { formatInline } from '../format.js'

/** How long an alert fires after it was raised for the last time. */
export const FIRING_MS = 15 * 60_000

/** A critical failure that was raised lately, possibly several times. */
export interface FiringAlert {
  readonly key: string
  readonly operation: string
  readonly kind: string
  /** The message and the session of the last failure. */
  readonly message: string
  readonly sessionId: string | undefined
  readonly count: number
  /** When it was raised for the last time, in epoch milliseconds. */
  readonly last: number
}

/** Groups the critical errors, newest first, by operation and kind. Each of them has raised an alert. */
export function groupAlerts(errors: readonly WireErrorRecord[], now: number): FiringAlert[] {
  const groups = new Map<string, FiringAlert>()
  for (const { context, kind, message, timestamp, session_id } of errors) {
    const at = Date.parse(timestamp)
    if (at <= now - FIRING_MS) continue
    const operation = formatInline(context['operation'])
    const key = `${operation} ${kind}`
    const known = groups.get(key)
    const sessionId = session_id ?? undefined
    if (known === undefined) groups.set(key, { key, operation, kind, message, sessionId, count: 1, last: at })
    else groups.set(key, { ...known, count: known.count + 1 })
  }
  return [...groups.values()]
}
