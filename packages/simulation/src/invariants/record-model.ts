import type { Holdfast } from '@holdfast/runtime'
import type { Process, SimulatedNode } from '../cluster/simulated-node.js'
import { Violation } from '../engine/violation.js'

interface ProcessEvents {
  /** The events that listeners have received and the store has not. */
  readonly waitingIds: Set<string>
  hasReportedDrops: boolean
}

/** The promise that events reach the store: each event of a process is written, unless the process reports that it dropped some. */
export class RecordModel {
  private readonly events = new Map<string, ProcessEvents>()

  onStarted(process: Process, runtime: Holdfast): void {
    const events: ProcessEvents = { waitingIds: new Set(), hasReportedDrops: false }
    this.events.set(process.name, events)
    runtime.events.on('*', ({ eventId, eventType }) => {
      events.waitingIds.add(eventId)
      if (eventType === 'events_dropped') events.hasReportedDrops = true
    })
  }

  onKilled(process: Process): void {
    this.events.delete(process.name)
  }

  /** The server has executed an insert of events. */
  onAppended(process: string, records: readonly { readonly eventId: string }[]): void {
    const events = this.events.get(process)
    for (const { eventId } of records) events?.waitingIds.delete(eventId)
  }

  /** Checks the processes that write to the server, some time after their last event. */
  checkWritten(nodes: readonly SimulatedNode[], isOnServer: (process: Process) => boolean): void {
    for (const { process } of nodes) {
      const events = process && this.events.get(process.name)
      if (process === undefined || events === undefined || !isOnServer(process)) continue
      const { waitingIds, hasReportedDrops } = events
      if (waitingIds.size > 0 && !hasReportedDrops)
        throw new Violation(
          'records',
          `${waitingIds.size} events of ${process.name} are not in the store, such as ${[...waitingIds][0]}`,
        )
    }
  }
}
