import {
  type AttemptRecord,
  type Classification,
  HoldfastError,
  type RetryOptions,
  type StopReason,
} from 'holdfast'
import {
  Call,
  captureContext,
  type Guarded,
  type Pass,
  type Rules,
  readRetry,
  report,
  runInContext,
  verdictOf,
} from 'holdfast/engine'
import type { CallOptions } from '../face.js'
import { copied } from '../records/own.js'
import type { ErrorSummary } from '../records/session.js'
import type { Line, LineRules } from './line.js'
import { type Foresight, Onlooker } from './onlooker.js'
import type { Active, Recorder } from './recorder.js'

/** What is known of a call that failed at least once. */
export interface Draft {
  readonly sessionId: string
  readonly correlationId: string
  readonly startTime: Date
  /** The policy of the last decision, and all that decided, each once. */
  policyId: string
  readonly policyIds: string[]
  /** The kind of the last failure. */
  kind: string
  /** What records say of each attempt's error, so that secrets are looked for once. */
  readonly summaries: Map<unknown, ErrorSummary>
  /** The call's context without secrets. */
  readonly context: Record<string, unknown> | undefined
  /** When the next attempt begins, epoch milliseconds. */
  nextRetryTime: number | undefined
}

/** An attempt that failed, what that was taken for, and what records say of it. */
export interface Failure {
  readonly error: unknown
  readonly known: Classification | undefined
  readonly summary: ErrorSummary
  /** Whether it was a value that is not wanted, and no error. */
  readonly unwanted?: boolean
}

/** What calls bring along, as it was when one of them began: rules with it are made once for each. */
class Own {
  private readonly retry: RetryOptions | false
  private readonly made = new WeakMap<LineRules, LineRules>()

  constructor(retry: RetryOptions | false) {
    // Its owner may change it, while the call runs too.
    this.retry = copied(retry)
  }

  /** @throws INVALID_OPTIONS */
  over(rules: LineRules): LineRules {
    const made = this.made.get(rules) ?? changed(rules, this.retry)
    this.made.set(rules, made)
    return made
  }

  /** Whether options still say what they said. */
  isStill(retry: object): boolean {
    const before: Record<string, unknown> = { ...this.retry }
    const now = Object.entries(retry)
    return (
      now.length === Object.keys(before).length && now.every(([field, value]) => isSame(before[field], value))
    )
  }
}

const isSame = (a: unknown, b: unknown): boolean =>
  a === b ||
  (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => item === b[i]))

const ONCE = new Own(false)
const known = new WeakMap<object, Own>()

/** What a call brings along. Those that use one object again and again share what was made of it. */
function ownOf(retry: RetryOptions | false): Own {
  if (retry === false) return ONCE
  const used = Object(retry) === retry ? known.get(retry) : undefined
  if (used?.isStill(retry)) return used
  const own = new Own(retry)
  if (Object(retry) === retry) known.set(retry, own)
  return own
}

/** Rules with what one call changes. Those that are off or only look on make one attempt whatever a call brings along. */
function changed(rules: LineRules, retry: RetryOptions | false): LineRules {
  const { record, shadow, policy } = rules
  if (shadow !== undefined)
    return { ...rules, shadow: { ...shadow, policy: policyWith(shadow.policy, retry) } }
  const own = policyWith(policy, retry)
  return record.enabled ? { ...rules, policy: own } : rules
}

function policyWith(policy: LineRules['policy'], retry: RetryOptions | false): LineRules['policy'] {
  if (retry === false) return { ...policy, maxAttempts: 1 }
  const problems: string[] = []
  const read = readRetry(retry, policy, problems)
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `the call cannot be made: ${problems.join('; ')}`, {
      details: problems,
    })
  return read
}

/** A call under the runtime: the engine's call, told to the records. */
export class RuntimeCall<T> extends Call<T> implements Active {
  readonly line: Line
  readonly given: CallOptions | undefined
  /** Its neighbours among the calls that run. */
  earlier: Active | undefined = undefined
  later: Active | undefined = undefined
  private readonly recorder: Recorder
  // What a call that succeeds at once does not need is declared and not set: it makes such a call no larger.
  /** Made with the first failure. */
  declare draft: Draft | undefined
  /** Its last failure, until it is known what becomes of it. */
  declare pending: Failure | undefined
  /** What it brings along. */
  declare private own: Own | undefined
  /** What it has gone by since its last failure. */
  declare private ruling: LineRules | undefined
  declare private passes: Pass[] | undefined
  /** Where a policy only looks on: what follows the call for it, and what it would have done, until that is told. */
  declare private onlooker: Onlooker | undefined
  declare foreseen: Foresight | undefined

  constructor(recorder: Recorder, line: Line, fn: Guarded, given: CallOptions | undefined) {
    super(line.core, fn, undefined, undefined, line.base.policy, given)
    this.recorder = recorder
    this.line = line
    this.given = given
    if (given?.retry === undefined) return
    this.own = ownOf(given.retry)
    this.policy = this.own.over(line.base).policy
  }

  /** What it goes by now. */
  get present(): LineRules {
    return this.ruling ?? this.line.base
  }

  /** How many attempts it may make, as far as is known now. */
  get maxAttempts(): number {
    return this.policy.maxAttempts
  }

  override start(): Promise<T> {
    this.saveContext()
    this.recorder.began(this)
    try {
      return super.start()
    } catch (error) {
      this.recorder.left(this)
      throw error
    }
  }

  /** Saves the async context of the caller, in which it ends when somebody else cancels it. */
  saveContext(): void {
    this.scope = captureContext()
  }

  /** The operator, or the end of the runtime, stops it. */
  cancel(message: string): void {
    runInContext(this.scope, () => this.leaveOff(new HoldfastError('CANCELLED', message), 'cancelled'))
  }

  /** How many attempts were written down. */
  get history(): readonly AttemptRecord[] {
    return this.attempts ?? []
  }

  protected override admit(now: number): HoldfastError | undefined {
    const { gates, shadows } = this.line
    if (shadows.length > 0) {
      const onlooker = (this.onlooker ??= new Onlooker(this.line, this.guard.settings.random))
      this.foreseen = this.aside(() => onlooker.begins(now))
    }
    if (gates.length === 0) return undefined
    const { lease } = this.guard
    const passes: Pass[] = []
    for (const gate of gates) {
      const pass: Pass = { epoch: 0, startedAt: 0, leaseEnd: 0 }
      if (!gate.admits(pass, lease, now)) {
        const error = gate.refusal()
        for (const [i, taken] of passes.entries()) gates[i]?.settle(taken, undefined)
        return error
      }
      passes.push(pass)
    }
    this.passes = passes
    return undefined
  }

  protected override judge(
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): void {
    const { passes, onlooker, present: rules } = this
    if (onlooker !== undefined) {
      const now = this.guard.settings.clock.now()
      this.foreseen ??= this.aside(() => onlooker.ends({ threw, result, known, rules }, now))
    }
    if (passes === undefined) return
    const { gates } = this.line
    for (const [i, pass] of passes.entries()) {
      const gate = gates[i]
      if (gate === undefined) continue
      const verdict = verdictOf(gate, threw, result, known)
      // A failure speaks against the breaker of the policy that decides over it, and of no other.
      gate.settle(pass, verdict === 'failure' && gate !== rules.gate ? undefined : verdict, at)
    }
    this.passes = undefined
  }

  /** What is only looked at breaks no call. */
  private aside<R>(look: () => R): R | undefined {
    try {
      return look()
    } catch (error) {
      report('a policy that only looks on', this.line, error)
      return undefined
    }
  }

  protected override excuse(): void {
    this.onlooker?.excused()
    for (const [i, pass] of (this.passes ?? []).entries()) this.line.gates[i]?.settle(pass, undefined)
    this.passes = undefined
  }

  protected override halted(): boolean {
    return this.line.gates.some((gate) => gate.phase === 'open')
  }

  protected override ruled(known: Classification | undefined): Rules | undefined {
    const { rules, rest } = this.line
    const ruling = rules.get(known?.kind ?? 'unknown') ?? rest
    this.ruling = this.own?.over(ruling) ?? ruling
    return this.ruling
  }

  protected override noted(threw: boolean, result: unknown, known: Classification | undefined): void {
    this.recorder.failed(this as RuntimeCall<unknown>, threw, result, known)
  }

  protected override waiting(wait: number): void {
    this.recorder.waits(this as RuntimeCall<unknown>, wait)
  }

  protected override finished(stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined {
    if (stopped === 'succeeded' && this.draft !== undefined)
      this.record(this, 'success', false, result, undefined)
    this.onlooker?.left()
    return this.recorder.ended(this as RuntimeCall<unknown>, stopped, result)
  }
}
