import type { SessionService } from '../face.js'
import { actorOf } from '../given.js'
import type { Actor, Kit } from '../kit.js'
import type { RetrySession } from '../records/session.js'
import { checkJournalFilter } from '../store/filter.js'
import { matchesFilter, sessionNature } from '../store/fits.js'
import type { Page, SessionFilter } from '../store/store.js'
import type { CallRecorder } from './recorder.js'

/** Calls that failed at least once: those that run, from memory, and those that ended, from the store. */
export class Sessions implements SessionService {
  private readonly kit: Kit
  private readonly recorder: CallRecorder
  private readonly flush: () => Promise<void>

  /** `flush` writes the sessions that wait for the store, so that what has just ended can be read. */
  constructor(kit: Kit, recorder: CallRecorder, flush: () => Promise<void>) {
    this.kit = kit
    this.recorder = recorder
    this.flush = flush
  }

  async list(filter: SessionFilter & { active?: boolean | undefined } = {}): Promise<Page<RetrySession>> {
    checkJournalFilter('sessions', filter)
    const { active, ...rest } = filter
    if (active === true) return { items: this.running(rest) }
    await this.flush()
    return this.kit.store.sessions.list(rest)
  }

  async get(id: string): Promise<RetrySession | undefined> {
    const running = this.recorder.find(id)
    if (running !== undefined) return this.recorder.recordOf(running)
    await this.flush()
    return this.kit.store.sessions.get(id)
  }

  async cancel(id: string, actor?: Actor): Promise<boolean> {
    const { by } = actorOf(actor)
    const call = this.recorder.find(id)
    if (call === undefined) return false
    call.cancel(`the call ${id} was cancelled${by === undefined ? '' : ` by ${by}`}`)
    await this.kit.audit(actor, 'session.cancel', id)
    return true
  }

  private running(filter: SessionFilter): RetrySession[] {
    const { order } = filter
    const all = this.recorder.running().filter((session) => matchesFilter(sessionNature, session, filter))
    return (order === 'oldest' ? all.toReversed() : all).slice(0, filter.limit ?? all.length)
  }
}
