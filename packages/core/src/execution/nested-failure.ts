import type { CompiledRetryPolicy } from '../retry/options.js'
import { hasExhaustedSession } from '../session/session.js'
import type { Executor } from './executor.js'
import type { MemberSelection } from './member-selection.js'

/**
 * Whether a guard or server inside the attempt has used up its retries and no other pool member is left, so that a policy with
 * `nested: 'stop'` ends the call. Sessions with a number above `sequence` began inside the attempt.
 */
export const isNestedFailure = (
  result: unknown,
  policy: CompiledRetryPolicy,
  executor: Executor,
  members: MemberSelection | undefined,
  sequence: number,
): boolean =>
  (hasExhaustedSession(result, executor, sequence) || policy.reportsExhaustion?.(result) === true) &&
  !members?.hasUntriedMember()
