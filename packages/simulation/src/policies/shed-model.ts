import { Violation } from '../engine/violation.js'

/** The period in which one rejected call of an operation is recorded. */
const PERIOD_MS = 1000

interface Period {
  readonly endsAt: number
  count: number
}

/** Which rejected calls of an operation are recorded: the first one of each period. An event at its end has the number of all. */
export class ShedModel {
  private readonly name: string
  private period: Period | undefined

  constructor(name: string) {
    this.name = name
  }

  /** A call was rejected, and was recorded or not. */
  onRejected(isRecorded: boolean, now: number, toleranceMs: number): void {
    if (isRecorded) {
      if (this.period !== undefined && now < this.period.endsAt - toleranceMs)
        throw new Violation('policies', `${this.name} recorded two rejected calls in one period`)
      this.checkReported(now, toleranceMs)
      this.period = { endsAt: now + PERIOD_MS, count: 1 }
      return
    }
    if (this.period === undefined || now > this.period.endsAt + toleranceMs)
      throw new Violation('policies', `${this.name} did not record a rejected call, and none was before it`)
    this.period.count++
  }

  /** The event `calls_shed`. */
  onReported(count: number, now: number, toleranceMs: number, isClosing: boolean): void {
    const { period } = this
    const expected = period?.count ?? 0
    if (count !== expected || expected < 2)
      throw new Violation('policies', `${this.name} reported ${count} rejected calls, expected ${expected}`)
    if (period !== undefined && !isClosing && Math.abs(now - period.endsAt) > toleranceMs)
      throw new Violation(
        'policies',
        `${this.name} reported rejected calls ${now - period.endsAt} ms too late`,
      )
    this.period = undefined
  }

  /** Checks that a period that has ended was reported. */
  checkReported(now: number, toleranceMs: number): void {
    const { period } = this
    if (period !== undefined && period.count > 1 && now > period.endsAt + toleranceMs)
      throw new Violation('policies', `${this.name} did not report ${period.count} rejected calls`)
  }
}
