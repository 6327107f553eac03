import { type Attempt, type BreakerEvent, type Guard, type GuardOptions, HoldfastError } from 'holdfast'
import type { CallOptions, Run } from '../face.js'
import { checkOperation, readCall, readCallOptions } from '../given.js'
import { LiveGuard } from '../guard.js'
import type { PoolSet } from '../pools/pools.js'
import type { CallRecorder } from '../sessions/recorder.js'
import { RuntimeCall } from './call.js'
import { lineOf } from './decorated.js'
import { PassthroughCall, TrackedFirstAttempt } from './first-attempt.js'
import { createHotShapes } from './kept-shapes.js'
import type { Line } from './line.js'
import { type LineParts, Lines } from './lines.js'
import type { Ruling } from './ruling.js'

export interface CallsParts {
  lines: LineParts
  pools: PoolSet
  recorder: CallRecorder
  /** Why a call with a payload cannot be taken, where it cannot. */
  refuses(): HoldfastError | undefined
  /** The breaker of a guard with options of its own changed. */
  changed(event: BreakerEvent, name: string): void
}

/** Begins calls, each by the configuration of that moment. */
export class Calls {
  private readonly parts: CallsParts
  private lines: Lines
  /** Created with the first call and kept. */
  private hotShapes: readonly object[] | undefined = undefined
  /** Whether no more calls are taken. */
  closed = false

  constructor(parts: CallsParts, ruling: Ruling) {
    this.parts = parts
    this.lines = new Lines(ruling, parts.lines)
  }

  /** Calls that begin from now on go by this. */
  apply(ruling: Ruling): void {
    const lines = new Lines(ruling, this.parts.lines)
    lines.prepare()
    this.lines = lines
  }

  /** What a call of an operation goes by. @throws POLICY_NOT_FOUND, INVALID_OPTIONS */
  line(operation: string, options?: CallOptions): Line {
    return this.lines.get(operation, options)
  }

  /** Begins a call of an operation. What is wrong with it rejects. */
  run<T>(operation: string, fn: (attempt: Attempt) => T | PromiseLike<T>, options?: CallOptions): Promise<T> {
    try {
      const given = readCall(fn, options)
      return this.start(this.line(operation, given), fn, given)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  private start<T>(
    line: Line,
    fn: (attempt: Attempt) => T | PromiseLike<T>,
    options: CallOptions | undefined,
  ): Promise<T> {
    const { recorder, pools } = this.parts
    if (this.closed) return Promise.reject(new HoldfastError('CANCELLED', 'the runtime is closed'))
    if (!line.enabled) {
      const { pool, context, signal } = options ?? {}
      if (signal?.aborted) return Promise.reject(signal.reason)
      const member = pool === undefined ? undefined : pools.get(pool).pick(context)
      return line.core.startTracked(fn, new PassthroughCall(recorder, member, signal))
    }
    const refused = options?.payload === undefined ? undefined : this.parts.refuses()
    if (refused !== undefined) return Promise.reject(refused)
    if (this.hotShapes === undefined) this.hotShapes = createHotShapes(recorder, line)
    const { signal, retry } = options ?? {}
    const watched = signal !== undefined || retry !== undefined || recorder.telling.any
    return line.plain && !watched
      ? line.core.startTracked(fn, new TrackedFirstAttempt(recorder, line, options))
      : new RuntimeCall(recorder, line, fn, options).start()
  }

  /** A guard whose every call is made by `run`, and goes by the configuration of the moment it begins. */
  guard(operation: string, run: Run, given: CallOptions | undefined): Guard {
    const { telling } = this.parts.recorder
    checkOperation(operation)
    const options = readCallOptions(given)
    return new LiveGuard(
      operation,
      {
        run,
        breaker: () => this.line(operation, options).base.gate,
        on: (listener) => telling.on(options?.name ?? operation, listener),
      },
      options,
    )
  }

  /** A guard with options of its own, whose calls are recorded and logged like all others. */
  guardFor(name: string, options: GuardOptions): Guard {
    const { lines, recorder, changed } = this.parts
    const line = lineOf(name, options, lines)
    line.breaker?.on((event) => changed(event, name))
    return new LiveGuard(
      name,
      {
        run: async (_, fn, given) => this.start(line, fn, readCall(fn, given)),
        breaker: () => line.breaker,
        on: (listener) => recorder.telling.on(name, listener),
      },
      undefined,
    )
  }
}
