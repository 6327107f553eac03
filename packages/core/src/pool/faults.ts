import type { Classification } from '../classify/index.js'
import { report } from '../report.js'
import type { Member } from './member.js'
import type { PoolSettings } from './options.js'
import type { PickOutcome } from './protocol.js'

/** The HTTP status behind an outcome, where there is one; also that of a response that was returned. */
export function statusOf({ threw, result, known }: PickOutcome): number | undefined {
  if (known !== undefined) return known.httpStatus
  if (threw || typeof Response === 'undefined' || !(result instanceof Response)) return undefined
  return result.status
}

/** Whether a member asks to be left alone for a while. */
export function isRateLimit(known: Classification | undefined, status: number | undefined): boolean {
  return status === 429 || known?.kind === 'rate_limited'
}

/** Which outcomes speak of the member and not of the request. */
export class MemberFaults<T> {
  private readonly statuses: ReadonlySet<number>
  private readonly ask: PoolSettings<T>['memberFault']

  constructor({ memberFaults, memberFault }: PoolSettings<T>) {
    this.statuses = memberFaults
    this.ask = memberFault
  }

  /** Whether this outcome does. A predicate that throws says no, and is reported once. */
  includes(member: Member<T>, { threw, result }: PickOutcome, statusCode: number | undefined): boolean {
    const { ask } = this
    if (statusCode !== undefined && this.statuses.has(statusCode)) return true
    if (ask === undefined) return false
    try {
      const outcome = threw ? { member, error: result } : { member, value: result }
      return ask(statusCode === undefined ? outcome : { ...outcome, statusCode }) === true
    } catch (error) {
      report('memberFault', ask, error)
      return false
    }
  }
}
