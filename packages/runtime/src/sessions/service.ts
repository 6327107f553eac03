import type { Actor, RuntimeContext } from '@holdfast/config'
import type { RetrySession } from '@holdfast/records'
import {
  checkJournalFilter,
  matchesFilter,
  type Page,
  type SessionFilter,
  sessionFilter,
} from '@holdfast/store'
import type { SessionService } from '../api-types.js'
import { parseActor } from '../call-options.js'
import type { ActiveCalls } from '../observation/active-calls.js'
import { findBySessionId, type SessionRecorder } from './session-recorder.js'

/** Calls that failed at least once: running ones are read from memory, ended ones from the store. */
export class Sessions implements SessionService {
  private readonly runtime: RuntimeContext
  private readonly active: ActiveCalls
  private readonly recorder: SessionRecorder
  private readonly flush: () => Promise<void>

  /** `flush` writes the sessions that wait for the store, so that a session can be read as soon as it has ended. */
  constructor(
    runtime: RuntimeContext,
    active: ActiveCalls,
    recorder: SessionRecorder,
    flush: () => Promise<void>,
  ) {
    this.runtime = runtime
    this.active = active
    this.recorder = recorder
    this.flush = flush
  }

  async list(filter: SessionFilter & { active?: boolean | undefined } = {}): Promise<Page<RetrySession>> {
    checkJournalFilter('sessions', filter)
    const { active, ...rest } = filter
    if (active === true) return { items: this.running(rest) }
    await this.flush()
    return this.runtime.store.sessions.list(rest)
  }

  async get(id: string): Promise<RetrySession | undefined> {
    const running = findBySessionId(this.active, id)
    if (running !== undefined) return this.recorder.describeRunning(running)
    await this.flush()
    return this.runtime.store.sessions.get(id)
  }

  async cancel(id: string, actor?: Actor): Promise<boolean> {
    const { by } = parseActor(actor)
    const call = findBySessionId(this.active, id)
    if (call === undefined) return false
    call.cancel(`the call ${id} was cancelled${by === undefined ? '' : ` by ${by}`}`)
    await this.runtime.audit(actor, 'session.cancel', id)
    return true
  }

  private running(filter: SessionFilter): RetrySession[] {
    const { order } = filter
    const all = [...this.active.failingCalls()]
      .map((call) => this.recorder.describeRunning(call))
      .filter((session) => matchesFilter(sessionFilter, session, filter))
    return (order === 'oldest' ? all.toReversed() : all).slice(0, filter.limit ?? all.length)
  }
}
