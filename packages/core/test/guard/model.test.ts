// Compares a call with a model without timers and promises, which follows the contract step by step.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  type Attempt,
  type Backoff,
  type GuardOptions,
  guard,
  HoldfastError,
  type Jitter,
  sessionOf,
} from '../../src/index.js'
import { fakeClock, seededRandom } from '../../src/testing/index.js'
import { histories, seedOf } from '../histories.js'
import { errorWith, fate } from './watch.js'

const HISTORIES = histories(6000)
const seed = seedOf('a call agrees with its model')
const NEVER = Number.POSITIVE_INFINITY

interface Step {
  /** The outcome of the attempt. */
  kind: 'value' | 'unwanted' | 'transient' | 'permanent' | 'hinted' | 'hang'
  /** After how long; 0 is at once. */
  after: number
  /** At once also means before the function returns. */
  sync: boolean
  /** Whether it ends when its signal is aborted. */
  obeys: boolean
  /** The Retry-After of a hinted error. */
  hint: number
}

interface History {
  steps: Step[]
  maxAttempts: number
  backoffType: Exclude<Backoff, (...args: never[]) => unknown>
  baseDelay: number
  more: number
  multiplier: number
  jitterType: Jitter
  jitterAmount: number
  jitter: [least: number, more: number]
  respectRetryAfter: boolean
  maxRetryAfter: number
  attempt: number
  total: number
  abortAt: number
  fallback: number | undefined
  /** The duration of `beforeRetry`, and whether it throws. */
  before: { after: number; throws: boolean } | undefined
  /** Whether the call is made by `execute` instead of `run`. */
  executes: boolean
  listens: boolean
  seed: number
}

interface Ending {
  began: number[]
  end: string
  at: number | undefined
  stopped: string | undefined
  /** The cause of TOTAL_TIMEOUT and of the error of `beforeRetry`. */
  cause: string | undefined
  /** The session of a value: the reason, the number of attempts and `served`. */
  session?: string | undefined
  /** The next attempt of each call of `beforeRetry`. */
  prepared?: number[]
}

/** The delay before retry n, by the formulas of the contract. */
function waitBefore(n: number, previous: number, h: History, random: () => number): number {
  const { baseDelay: base, multiplier, jitterAmount: a } = h
  const cap = base + h.more
  const [least, most] = [h.jitter[0], h.jitter[0] + h.jitter[1]]
  const fibonacci = [1, 2, 3, 5, 8, 13, 21]
  const grown = {
    exponential: base * multiplier ** (n - 1),
    linear: base * n,
    fixed: base,
    immediate: 0,
    fibonacci: base * (fibonacci[n - 1] ?? NEVER),
  }[h.backoffType]
  const d = Math.min(grown, cap)
  const between = (low: number, high: number) => low + (high - low) * random()
  switch (h.jitterType) {
    case 'none':
      return d
    case 'full':
      return between((1 - a) * d, d)
    case 'equal':
      return between((1 - a / 2) * d, d)
    case 'decorrelated':
      return Math.min(cap, (1 - a) * d + a * between(base, Math.max(base, 3 * previous)))
    case 'proportional':
      return Math.min(cap, Math.min(grown, cap / (1 + a)) * between(1 - a, 1 + a))
    case 'additive':
      return Math.min(cap, Math.max(0, Math.min(grown, cap - most)) + between(least, most))
  }
}

function model(h: History): Ending {
  const random = seededRandom(h.seed)
  const began: number[] = []
  let now = 0
  let wait = h.baseDelay
  let error: string | undefined
  const prepared: number[] = []
  const sessionAfter = (stopped: string, served?: string) =>
    h.executes ? `${stopped} ${began.length} ${served}` : undefined
  const aborted = (): Ending => ({
    began,
    end: 'enough',
    at: h.abortAt,
    stopped: 'aborted',
    cause: undefined,
    session: undefined,
    prepared,
  })
  const failed = (end: string, stopped: string, cause?: string): Ending => {
    if (h.fallback === undefined) return { began, end, at: now, stopped, cause, session: undefined, prepared }
    if (h.abortAt < now + h.fallback) return { ...aborted(), stopped: undefined }
    const at = now + h.fallback
    const session = sessionAfter(stopped, 'fallback')
    return { began, end: `instead of ${end}`, at, stopped: undefined, cause: undefined, session, prepared }
  }
  if (h.abortAt === 0) return aborted()
  for (let n = 1; ; n++) {
    began.push(now)
    const step = h.steps[Math.min(n, h.steps.length) - 1] as Step
    const answers = step.kind === 'hang' ? NEVER : now + step.after
    const attemptDue = now + h.attempt
    const ends = Math.min(answers, attemptDue, h.total)
    if (h.abortAt < ends) return aborted()
    const nothing = { stopped: undefined, cause: undefined, session: undefined, prepared }
    if (ends === NEVER) return { ...nothing, began, end: 'pending', at: undefined }
    now = ends
    const inTime = answers === ends
    if (inTime && step.kind === 'value') {
      return { ...nothing, began, end: `value ${n}`, at: now, session: sessionAfter('succeeded') }
    }
    if (!inTime && h.total <= attemptDue) return failed('TOTAL_TIMEOUT', 'deadline', error)
    const value = inTime && step.kind === 'unwanted'
    const outcome = inTime ? `${step.kind} ${n}` : 'ATTEMPT_TIMEOUT'
    const stop = (why: string): Ending =>
      value
        ? { ...nothing, began, end: outcome, at: now, session: sessionAfter('unwanted_value') }
        : failed(outcome, why)
    if (!value) error = outcome
    if (inTime && step.kind === 'permanent') return stop('not_retryable')
    if (n >= h.maxAttempts) return stop('attempts_spent')
    const hint = inTime && step.kind === 'hinted' && h.respectRetryAfter ? step.hint : undefined
    if (hint !== undefined && hint > h.maxRetryAfter) return stop('deadline')
    wait = hint ?? waitBefore(n, wait, h, random)
    if (!(wait < h.total - now)) return stop('deadline')
    if (h.abortAt < now + wait) return aborted()
    now += wait
    if (h.before === undefined) continue
    prepared.push(n + 1)
    const ready = Math.min(now + h.before.after, h.total)
    if (h.abortAt < ready) return aborted()
    now = ready
    if (now === h.total) return failed('TOTAL_TIMEOUT', 'deadline', error)
    if (h.before.throws) return failed('not ready', 'before_retry', value ? undefined : outcome)
  }
}

async function reality(h: History): Promise<Ending> {
  const clock = fakeClock()
  const controller = new AbortController()
  const began: number[] = []
  const { respectRetryAfter, maxRetryAfter, maxAttempts, backoffType, baseDelay, multiplier } = h
  const options: GuardOptions<string> = {
    clock,
    random: seededRandom(h.seed),
    timeout: { attempt: h.attempt, total: h.total },
    retry: {
      respectRetryAfter,
      maxRetryAfter,
      maxAttempts,
      backoffType,
      baseDelay,
      multiplier,
      jitterType: h.jitterType,
      jitterAmount: h.jitterAmount,
      maxDelay: baseDelay + h.more,
      jitterMin: h.jitter[0],
      jitterMax: h.jitter[0] + h.jitter[1],
    },
  }
  if (h.steps.some(({ kind }) => kind === 'unwanted'))
    options.retry = { ...options.retry, retryIf: ({ value }) => `${value}`.startsWith('unwanted') }
  const prepared: number[] = []
  const { before } = h
  if (before !== undefined)
    options.retry = {
      ...options.retry,
      beforeRetry: async ({ attempt }) => {
        prepared.push(attempt)
        if (before.after > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, before.after))
        if (before.throws) throw new Error('not ready')
      },
    }
  const word = (error: unknown) => (error instanceof HoldfastError ? error.code : (error as Error).message)
  const { fallback } = h
  if (fallback !== undefined)
    options.fallback = (error) =>
      new Promise((resolve) => clock.setTimer(() => resolve(`instead of ${word(error)}`), fallback))
  const made = guard(options)
  if (h.listens) made.on(() => {})
  if (h.abortAt === 0) controller.abort(new Error('enough'))
  else if (h.abortAt < NEVER) clock.setTimer(() => controller.abort(new Error('enough')), h.abortAt)
  const signals = h.abortAt < NEVER ? { signal: controller.signal } : undefined
  let at: number | undefined
  let session: string | undefined
  const fn = ({ number, signal }: Attempt) => {
    began.push(clock.now())
    return perform(h.steps[Math.min(number, h.steps.length) - 1] as Step, number, signal)
  }
  const result = h.executes
    ? made.execute(fn, signals).then((executed) => {
        const { stopped, attempts, served } = executed.session
        session = `${stopped} ${attempts.length} ${served}`
        return executed.value
      })
    : made.run(fn, signals)
  const call = fate(
    result.finally(() => {
      at = clock.now()
    }),
  )
  await clock.advance(100_000)
  const { value, error } = call
  const end = call.state === 'fulfilled' ? `${value}` : call.state === 'rejected' ? word(error) : 'pending'
  const hasCause =
    error instanceof Error && ['TOTAL_TIMEOUT', 'not ready'].includes(word(error)) && h.abortAt > (at ?? 0)
  const cause = hasCause ? error.cause : undefined
  return {
    began,
    end,
    at,
    stopped: sessionOf(error)?.stopped,
    cause: cause === undefined ? cause : word(cause),
    session,
    prepared,
  }

  function perform({ kind, after, sync, obeys, hint }: Step, number: number, signal: AbortSignal): unknown {
    const text = `${kind} ${number}`
    const facts = {
      ...{ transient: { code: 'ECONNRESET' }, permanent: { status: 404 } }[kind as string],
      ...(kind === 'hinted' && { status: 503, headers: { 'retry-after-ms': `${hint}` } }),
    }
    const fails = kind === 'transient' || kind === 'permanent' || kind === 'hinted'
    if (after === 0 && sync && kind !== 'hang') {
      if (fails) throw errorWith(facts, text)
      return text
    }
    return new Promise((resolve, reject) => {
      if (obeys) signal.addEventListener('abort', () => reject(signal.reason))
      if (kind === 'hang') return
      const settle = () => (fails ? reject(errorWith(facts, text)) : resolve(text))
      if (after === 0) settle()
      else clock.setTimer(settle, after)
    })
  }
}

/** A time with a unique fraction, so that no two events happen at the same time where the contract does not define their order. */
const odd = (max: number, fraction: number) => fc.integer({ min: 0, max }).map((time) => time + fraction)
const whole = (max: number) => fc.integer({ min: 1, max })
const orNever = (some: fc.Arbitrary<number>) => fc.oneof({ weight: 2, arbitrary: some }, fc.constant(NEVER))

const history: fc.Arbitrary<History> = fc.record({
  steps: fc.array(
    fc.record({
      kind: fc.constantFrom(
        ...([
          'value',
          'unwanted',
          'transient',
          'transient',
          'transient',
          'permanent',
          'hinted',
          'hang',
        ] as const),
      ),
      after: fc.oneof(fc.constant(0), odd(200, 0.0117)),
      sync: fc.boolean(),
      obeys: fc.boolean(),
      hint: fc.constantFrom(0, 5, 60, 400),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  maxAttempts: whole(6),
  backoffType: fc.constantFrom('exponential', 'linear', 'fixed', 'immediate', 'fibonacci'),
  baseDelay: fc.integer({ min: 0, max: 100 }),
  more: fc.integer({ min: 0, max: 300 }),
  multiplier: fc.constantFrom(1, 1.5, 2, 10),
  jitterType: fc.constantFrom('none', 'none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'),
  jitterAmount: fc.constantFrom(0, 0.1, 0.5, 1),
  jitter: fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 100 })),
  respectRetryAfter: fc.boolean(),
  maxRetryAfter: fc.constantFrom(60, 1000),
  attempt: orNever(whole(150)),
  total: orNever(whole(600)),
  abortAt: fc.oneof(
    { weight: 6, arbitrary: fc.constant(NEVER) },
    { weight: 3, arbitrary: odd(500, 0.50031) },
    { weight: 1, arbitrary: fc.constant(0) },
  ),
  fallback: fc.option(odd(50, 0.25007), { nil: undefined, freq: 4 }),
  before: fc.option(fc.record({ after: fc.oneof(fc.constant(0), odd(80, 0.03019)), throws: fc.boolean() }), {
    nil: undefined,
    freq: 2,
  }),
  executes: fc.boolean(),
  listens: fc.boolean(),
  seed: fc.integer(),
})

const rounded = ({ began, at, ...rest }: Ending) => ({
  ...rest,
  began: began.map((time) => time.toFixed(6)),
  at: at?.toFixed(6),
})

it(`a call agrees with its model in ${HISTORIES} histories (SEED=${seed})`, async () => {
  const property = fc.asyncProperty(history, async (given) => {
    expect(rounded(await reality(given))).toEqual(rounded(model(given)))
  })
  console.info(`the model of a call: SEED=${seed}`)
  await fc.assert(property, { seed, numRuns: HISTORIES })
})
