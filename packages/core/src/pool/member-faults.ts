import type { Classification } from '../classify/index.js'
import { reportOnce } from '../report.js'
import type { Member } from './members/member.js'
import type { SelectionOutcome } from './members/member-pool.js'
import type { PoolSettings } from './options.js'

/** The HTTP status behind an outcome, where there is one; also that of a response that was returned. */
export function outcomeStatus({ hasThrown, result, classification }: SelectionOutcome): number | undefined {
  if (classification !== undefined) return classification.httpStatus
  if (hasThrown || typeof Response === 'undefined' || !(result instanceof Response)) return undefined
  return result.status
}

/** Whether a member asks to be left alone for a while. */
export function isRateLimit(known: Classification | undefined, status: number | undefined): boolean {
  return status === 429 || known?.kind === 'rate_limited'
}

/** Which outcomes speak of the member and not of the request. */
export class MemberFaults<T> {
  private readonly statuses: ReadonlySet<number>
  private readonly isMemberFault: PoolSettings<T>['memberFault']

  constructor({ memberFaults, memberFault }: PoolSettings<T>) {
    this.statuses = memberFaults
    this.isMemberFault = memberFault
  }

  /** Whether this outcome does. A predicate that throws says no, and is reported once. */
  includes(
    member: Member<T>,
    { hasThrown, result }: SelectionOutcome,
    statusCode: number | undefined,
  ): boolean {
    const { isMemberFault } = this
    if (statusCode !== undefined && this.statuses.has(statusCode)) return true
    if (isMemberFault === undefined) return false
    try {
      const outcome = hasThrown ? { member, error: result } : { member, value: result }
      return isMemberFault(statusCode === undefined ? outcome : { ...outcome, statusCode }) === true
    } catch (error) {
      reportOnce('memberFault', isMemberFault, error)
      return false
    }
  }
}
