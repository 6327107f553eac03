import type { Holdfast } from '@holdfast/runtime'
import type { Process, SimulatedNode } from '../cluster/simulated-node.js'
import { Violation } from '../engine/violation.js'

/** The journals, and the field that identifies a record; empty if there is none. No record is as old as the retention of its journal. */
const JOURNAL_IDS: Readonly<Record<string, string>> = {
  sessions: 'sessionId',
  events: 'eventId',
  errors: '',
  audit: '',
  breakerEvents: '',
  metrics: '',
}

interface ProcessEvents {
  /** The events that listeners have received and the store has not. */
  readonly waitingIds: Set<string>
  /** The sessions of calls that have ended, by the events about their ends. */
  readonly waitingSessions: Set<string>
  hasReportedDrops: boolean
}

/** The promise that events reach the store: each event of a process is written, unless the process reports that it dropped some. */
export class RecordModel {
  private readonly wasStoreAvailable: (process: string) => boolean
  private readonly events = new Map<string, ProcessEvents>()
  /** The ids of all records that the server has inserted, by journal. */
  private readonly inserted = new Map<string, Set<string>>()

  /** @param wasStoreAvailable - whether a process has reached its store for minutes */
  constructor(wasStoreAvailable: (process: string) => boolean) {
    this.wasStoreAvailable = wasStoreAvailable
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const events: ProcessEvents = {
      waitingIds: new Set(),
      waitingSessions: new Set(),
      hasReportedDrops: false,
    }
    this.events.set(process.name, events)
    runtime.events.on('*', ({ eventId, eventType, sessionId }) => {
      events.waitingIds.add(eventId)
      if (typeof sessionId === 'string' && (eventType === 'retry_failure' || eventType === 'retry_success'))
        events.waitingSessions.add(sessionId)
      if (eventType === 'events_dropped') events.hasReportedDrops = true
    })
  }

  onKilled(process: Process): void {
    this.events.delete(process.name)
  }

  /** The server has executed a method of a journal. A command that was repeated after a lost reply is not reported. */
  onExecuted(process: string, method: string, args: readonly unknown[], result: unknown): void {
    const [journal = '', name] = method.split('.')
    if (name === 'expire' && JOURNAL_IDS[journal] !== undefined && Number(result) > 0)
      throw new Violation('records', `${process} deleted ${result} ${journal}, and all of them are new`)
    const idField = JOURNAL_IDS[journal]
    if (name !== 'append' || idField === undefined) return
    const ids = this.inserted.get(journal) ?? new Set()
    this.inserted.set(journal, ids)
    const events = this.events.get(process)
    for (const record of args[0] as readonly Record<string, unknown>[]) {
      const id = record[idField]
      if (typeof id !== 'string') continue
      // A batch whose insert failed is sent again, and the server can have executed it.
      if (ids.has(id) && this.wasStoreAvailable(process))
        throw new Violation('records', `${process} stored ${id} of ${journal} twice`)
      ids.add(id)
      if (journal === 'events') events?.waitingIds.delete(id)
      if (journal === 'sessions') events?.waitingSessions.delete(id)
    }
  }

  /** Checks the processes that write to the server, some time after their last event. */
  checkWritten(nodes: readonly SimulatedNode[], isOnServer: (process: Process) => boolean): void {
    for (const { process } of nodes) {
      const events = process && this.events.get(process.name)
      if (process === undefined || events === undefined || !isOnServer(process)) continue
      const { waitingIds, waitingSessions, hasReportedDrops } = events
      if (waitingSessions.size > 0 && !hasReportedDrops)
        throw new Violation(
          'records',
          `${waitingSessions.size} sessions of ${process.name} are not in the store, such as ${[...waitingSessions][0]}`,
        )
      if (waitingIds.size > 0 && !hasReportedDrops)
        throw new Violation(
          'records',
          `${waitingIds.size} events of ${process.name} are not in the store, such as ${[...waitingIds][0]}`,
        )
    }
  }
}
