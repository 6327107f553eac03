import type { WireErrorRecord } from '../../api/types.js'

/** How many error records are grouped. */
export const MAX_ERRORS_LOADED = 1000

/** Failed attempts with the same kind and message. */
export interface ErrorGroup {
  readonly kind: string
  readonly message: string
  readonly count: number
  readonly first: string
  readonly last: string
  /** The session of the newest one. */
  readonly sessionId: string | undefined
}

/** Groups error records, newest first, by kind and message. The largest group comes first. */
export function groupErrors(records: readonly WireErrorRecord[]): ErrorGroup[] {
  const groups = new Map<string, ErrorGroup>()
  for (const { kind, message, timestamp, session_id } of records) {
    const key = JSON.stringify([kind, message])
    const known = groups.get(key)
    groups.set(key, {
      kind: kind ?? 'unknown',
      message,
      count: (known?.count ?? 0) + 1,
      first: timestamp,
      last: known?.last ?? timestamp,
      sessionId: known?.sessionId ?? session_id ?? undefined,
    })
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count)
}
