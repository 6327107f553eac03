import type { Holdfast } from '@holdfast/runtime'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'

/** The journals whose records have an id: the field of a record, and the same in its JSON. */
const ID_FIELDS: Readonly<Record<string, { readonly field: string; readonly pattern: RegExp }>> = {
  sessions: { field: 'sessionId', pattern: /"session_id":"([^"]*)"/ },
  events: { field: 'eventId', pattern: /"event_id":"([^"]*)"/ },
}

/** The parts of a store that delete old records. */
const EXPIRING = new Set(['sessions', 'events', 'errors', 'audit', 'breakerEvents', 'metrics'])

interface ProcessEvents {
  /** The events that listeners have received and the store has not. */
  readonly waitingIds: Set<string>
  /** The sessions of calls that have ended, by the events about their ends. */
  readonly waitingSessions: Set<string>
  hasReportedDrops: boolean
}

/** A record of a journal on the server. */
interface StoredRecord {
  /** How often the server has it. */
  count: number
  /** Whether a client knows that the server has it. */
  isAcknowledged: boolean
  /**
   * Whether the server may have it twice: an append failed for the client, which sends it again, or the server has executed a
   * request of a client that had given up the connection.
   */
  canRepeat: boolean
  /** Whether a crash of the server has lost it. */
  isLost: boolean
}

/** What a client learns about an append. */
export interface AppendObserver {
  onAcknowledged(): void
  onFailed(): void
}

/**
 * The promises about records: each event of a process is written, unless the process reports that it dropped some. A record that was
 * acknowledged is on the server, and is not sent again. After a lost reply the store looks whether the records were committed, so the
 * server has a record twice only in the cases of {@link StoredRecord.canRepeat}.
 */
export class RecordModel {
  private readonly events = new Map<string, ProcessEvents>()
  /** The records that were sent or inserted, by journal and id. */
  private readonly records = new Map<string, Map<string, StoredRecord>>()

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

  /** A process appends records to a journal in the store. */
  onAppend(process: string, journal: string, records: readonly object[]): AppendObserver | undefined {
    const field = ID_FIELDS[journal]?.field
    if (field === undefined) return undefined
    const ids = records.map((record) => String((record as Record<string, unknown>)[field]))
    for (const id of ids)
      if (this.recordOf(journal, id).isAcknowledged)
        throw new Violation(
          'records',
          `${process} writes ${id} of ${journal}, which the store has acknowledged`,
        )
    return {
      onAcknowledged: () => {
        for (const id of ids) {
          const record = this.recordOf(journal, id)
          record.isAcknowledged = true
          if (record.count === 0 && !record.isLost)
            throw new Violation(
              'records',
              `the store has acknowledged ${id} of ${journal} to ${process}, and the server does not have it`,
            )
        }
      },
      onFailed: () => {
        for (const id of ids) this.recordOf(journal, id).canRepeat = true
      },
    }
  }

  /** A method of a store that is not on the server has resolved. */
  onExecuted(process: string, method: string, args: readonly unknown[], result: unknown): void {
    const [journal = '', name] = method.split('.')
    if (name === 'expire' && EXPIRING.has(journal)) this.onExpired(process, journal, Number(result))
    const field = ID_FIELDS[journal]?.field
    if (name !== 'append' || field === undefined) return
    for (const stored of args[0] as readonly Record<string, unknown>[]) {
      const id = String(stored[field])
      const record = this.recordOf(journal, id)
      if (record.isAcknowledged) throw new Violation('records', `${process} stored ${id} of ${journal} twice`)
      record.isAcknowledged = true
      this.onStored(process, journal, id)
    }
  }

  /** The server has committed records. `isLate` if the client had given up the connection. */
  onInserted(process: string, journal: string, bodies: readonly string[], isLate: boolean): void {
    for (const id of idsOf(journal, bodies)) {
      const record = this.recordOf(journal, id)
      record.canRepeat ||= isLate
      record.isLost = false
      if (++record.count > 1 && !record.canRepeat)
        throw new Violation('records', `${process} stored ${id} of ${journal} twice`)
      this.onStored(process, journal, id)
    }
  }

  /** A crash of the server has lost records whose commit was not flushed. */
  onLost(journal: string, bodies: readonly string[]): void {
    for (const id of idsOf(journal, bodies)) {
      const record = this.recordOf(journal, id)
      record.count--
      record.isLost = true
    }
  }

  /** A process has deleted records. No record of a simulation is as old as the retention of its journal. */
  onExpired(process: string, journal: string, count: number): void {
    if (count > 0)
      throw new Violation('records', `${process} deleted ${count} ${journal}, and all of them are new`)
  }

  /** Checks a process that has just closed its runtime. */
  checkClosed(process: Process, wasStoreAvailable: boolean): void {
    const { waitingIds, hasReportedDrops } = this.events.get(process.name) ?? {}
    if (waitingIds === undefined || hasReportedDrops || !wasStoreAvailable) return
    if (waitingIds.size > 0)
      throw new Violation(
        'records',
        `${process.name} is closed, and ${waitingIds.size} of its events are not in the store, such as ${[...waitingIds][0]}`,
      )
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

  private onStored(process: string, journal: string, id: string): void {
    const events = this.events.get(process)
    if (journal === 'events') events?.waitingIds.delete(id)
    if (journal === 'sessions') events?.waitingSessions.delete(id)
  }

  private recordOf(journal: string, id: string): StoredRecord {
    const records = this.records.get(journal) ?? new Map<string, StoredRecord>()
    this.records.set(journal, records)
    const known = records.get(id)
    if (known !== undefined) return known
    const record = { count: 0, isAcknowledged: false, canRepeat: false, isLost: false }
    records.set(id, record)
    return record
  }
}

const idsOf = (journal: string, bodies: readonly string[]): string[] => {
  const pattern = ID_FIELDS[journal]?.pattern
  return pattern === undefined ? [] : bodies.map((body) => pattern.exec(body)?.[1] ?? body)
}
