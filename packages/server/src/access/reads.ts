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

const MINUTE = 60_000

interface Tally {
  actor: string
  action: ReadAction
  count: number
  from: number
  to: number
}

/** Adds up who read what: one record for each actor and action a minute, written when the minute is over. */
export class Reads {
  private readonly tallies = new Map<string, Tally>()
  private readonly clock: Clock
  private readonly write: WriteRead
  private timer: unknown

  constructor(clock: Clock, write: WriteRead) {
    this.clock = clock
    this.write = write
  }

  note(actor: string, action: ReadAction): void {
    const at = this.clock.wall()
    const key = `${action} ${actor}`
    const tally = this.tallies.get(key)
    if (tally === undefined) this.tallies.set(key, { actor, action, count: 1, from: at, to: at })
    else {
      tally.count++
      tally.to = at
    }
    this.timer ??= this.clock.setTimer(() => void this.flush(), MINUTE)
  }

  /** Writes down what is there. */
  async flush(): Promise<void> {
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    const tallies = [...this.tallies.values()]
    this.tallies.clear()
    for (const { actor, action, count, from, to } of tallies)
      await this.write(actor, action, { count, from: new Date(from), to: new Date(to) })
  }
}
