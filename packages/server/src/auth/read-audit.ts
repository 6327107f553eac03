import type { AuditAction } from '@holdfast/runtime'
import type { Clock } from 'holdfast'

/** Reads that are too frequent for an audit record each. */
export type ReadAction = Extract<AuditAction, 'session.read' | 'metrics.read'>

/** Writes the audit record of several reads. */
export type WriteRead = (
  actor: string,
  action: ReadAction,
  read: { count: number; from: Date; to: Date },
) => Promise<void>

const FLUSH_INTERVAL_MS = 60_000

interface ReadCount {
  actor: string
  action: ReadAction
  count: number
  from: number
  to: number
}

/** Counts reads and writes one audit record per minute for each actor and action. */
export class ReadAudit {
  private readonly counts = new Map<string, ReadCount>()
  private readonly clock: Clock
  private readonly write: WriteRead
  private timer: unknown

  constructor(clock: Clock, write: WriteRead) {
    this.clock = clock
    this.write = write
  }

  countRead(actor: string, action: ReadAction): void {
    const at = this.clock.wall()
    const key = `${action} ${actor}`
    const entry = this.counts.get(key)
    if (entry === undefined) this.counts.set(key, { actor, action, count: 1, from: at, to: at })
    else {
      entry.count++
      entry.to = at
    }
    this.timer ??= this.clock.setTimer(() => void this.flush(), FLUSH_INTERVAL_MS)
  }

  /** Writes the counts so far. */
  async flush(): Promise<void> {
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    const entries = [...this.counts.values()]
    this.counts.clear()
    for (const { actor, action, count, from, to } of entries)
      await this.write(actor, action, { count, from: new Date(from), to: new Date(to) })
  }
}
