import type { Classification } from '../classify/index.js'
import { reportOnce } from '../report.js'
import type { Member } from './members/member.js'
import type { SelectionOutcome } from './members/member-pool.js'
import type { PoolSettings } from './options.js'

/** The HTTP status of an outcome, from its error or from a response that the function returned. */
export function outcomeStatus({ hasThrown, result, classification }: SelectionOutcome): number | undefined {
  if (classification !== undefined) return classification.httpStatus
  if (hasThrown || typeof Response === 'undefined' || !(result instanceof Response)) return undefined
  return result.status
}

/** Whether a member has rejected the attempt because of a rate limit. */
export function isRateLimit(classification: Classification | undefined, status: number | undefined): boolean {
  return status === 429 || classification?.kind === 'rate_limited'
}

/** Recognizes the outcomes that are caused by the member and not by the request. */
export class MemberFaults<T> {
  private readonly statuses: ReadonlySet<number>
  private readonly isMemberFault: PoolSettings<T>['memberFault']

  constructor({ memberFaults, memberFault }: PoolSettings<T>) {
    this.statuses = memberFaults
    this.isMemberFault = memberFault
  }

  /**
   * Whether the member caused this outcome; never that of an attempt that was cancelled. A response with the status 499 has the same
   * kind, but is an answer of the member. A predicate that throws counts as false, and its error is reported once.
   */
  includes(
    member: Member<T>,
    { hasThrown, result, classification }: SelectionOutcome,
    statusCode: number | undefined,
  ): boolean {
    const { isMemberFault } = this
    if (classification?.kind === 'cancelled' && statusCode === undefined) return false
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
