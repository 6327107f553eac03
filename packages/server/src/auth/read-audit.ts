import type { AuditAction } from '@holdfast/runtime'
import type { Clock } from 'holdfast'

/** What is read often enough that each reading is not worth a record. */
export type ReadAction = Extract<AuditAction, 'session.read' | 'metrics.read'>

/** Writes one record down. */
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

/** Adds up who read what: one record for each actor and action a minute, written when the minute is over. */
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
    const tally = this.counts.get(key)
    if (tally === undefined) this.counts.set(key, { actor, action, count: 1, from: at, to: at })
    else {
      tally.count++
      tally.to = at
    }
    this.timer ??= this.clock.setTimer(() => void this.flush(), FLUSH_INTERVAL_MS)
  }

  /** Writes down what is there. */
  async flush(): Promise<void> {
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    const tallies = [...this.counts.values()]
    this.counts.clear()
    for (const { actor, action, count, from, to } of tallies)
      await this.write(actor, action, { count, from: new Date(from), to: new Date(to) })
  }
}
