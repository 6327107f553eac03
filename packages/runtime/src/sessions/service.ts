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
import type { CallRecorder } from './recorder.js'

/** Calls that failed at least once: those that run, from memory, and those that ended, from the store. */
export class Sessions implements SessionService {
  private readonly runtime: RuntimeContext
  private readonly recorder: CallRecorder
  private readonly flush: () => Promise<void>

  /** `flush` writes the sessions that wait for the store, so that what has just ended can be read. */
  constructor(runtime: RuntimeContext, recorder: CallRecorder, flush: () => Promise<void>) {
    this.runtime = runtime
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
    const running = this.recorder.find(id)
    if (running !== undefined) return this.recorder.recordOf(running)
    await this.flush()
    return this.runtime.store.sessions.get(id)
  }

  async cancel(id: string, actor?: Actor): Promise<boolean> {
    const { by } = parseActor(actor)
    const call = this.recorder.find(id)
    if (call === undefined) return false
    call.cancel(`the call ${id} was cancelled${by === undefined ? '' : ` by ${by}`}`)
    await this.runtime.audit(actor, 'session.cancel', id)
    return true
  }

  private running(filter: SessionFilter): RetrySession[] {
    const { order } = filter
    const all = this.recorder
      .runningSessions()
      .filter((session) => matchesFilter(sessionFilter, session, filter))
    return (order === 'oldest' ? all.toReversed() : all).slice(0, filter.limit ?? all.length)
  }
}
