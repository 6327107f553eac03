import { Violation } from '../engine/violation.js'

type ResultStatus = 'completed' | 'failed'

interface ResultCounts {
  stored: number
  reported: number
  /** When the last one was stored. */
  storedAt: number
}

/** The results of replays: each one that a process has stored is reported by exactly one event of this process. */
export class ResultModel {
  private readonly now: () => number
  private readonly counts = new Map<string, ResultCounts>()
  private readonly completedIds = new Set<string>()

  constructor(now: () => number) {
    this.now = now
  }

  /** The store has a result. */
  onStored(process: string, id: string, status: ResultStatus): void {
    if (status === 'completed' && this.completedIds.has(id))
      throw new Violation('completed', `${id} was completed twice`)
    if (status === 'completed') this.completedIds.add(id)
    const counts = this.countsOf(process, id, status)
    counts.stored++
    counts.storedAt = this.now()
  }

  /** A process reports a result. */
  onReported(process: string, id: string, status: ResultStatus): void {
    const counts = this.countsOf(process, id, status)
    if (++counts.reported > counts.stored)
      throw new Violation(
        'completed',
        `${process} reported ${counts.reported} times that ${id} is ${status}, and stored it ${counts.stored} times`,
      )
  }

  /** Checks that a process has reported everything that it had stored before a time. */
  checkReported(process: string, before: number): void {
    for (const [key, { stored, reported, storedAt }] of this.counts)
      if (key.startsWith(`${process} `) && storedAt < before && stored !== reported)
        throw new Violation('completed', `${key} was stored ${stored} times and reported ${reported} times`)
  }

  private countsOf(process: string, id: string, status: ResultStatus): ResultCounts {
    const key = `${process} ${id} ${status}`
    const known = this.counts.get(key) ?? { stored: 0, reported: 0, storedAt: 0 }
    this.counts.set(key, known)
    return known
  }
}
