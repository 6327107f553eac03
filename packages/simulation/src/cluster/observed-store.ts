import type { Store } from '@holdfast/store'
import type { Process } from '../process/simulated-node.js'
import type { ClusterObserver } from './cluster-observer.js'

/** Reports the saved breakers that a process loads and saves. */
export function observeBreakers(process: Process, { breakers }: Store, observer: ClusterObserver): void {
  const load = breakers.load.bind(breakers)
  const save = breakers.save.bind(breakers)
  breakers.load = async () => {
    const onLoaded = observer.onBreakersLoad(process.name)
    const rows = await load()
    if (process.isAlive) onLoaded(rows)
    return rows
  }
  breakers.save = async (rows) => {
    const saved = process.isAlive ? observer.onBreakersSaved(process.name, rows) : undefined
    try {
      await save(rows)
    } catch (error) {
      if (process.isAlive) saved?.onFailed()
      throw error
    }
    if (process.isAlive) saved?.onAcknowledged()
  }
}

/** Reports the sessions that a process writes. */
export function observeSessions(process: Process, { sessions }: Store, observer: ClusterObserver): void {
  const append = sessions.append.bind(sessions)
  sessions.append = (records) => {
    if (process.isAlive) observer.onSessionsWritten(process, records)
    return append(records)
  }
}

/** Reports the records that a process appends to the server. */
export function observeAppends(process: Process, store: Store, observer: ClusterObserver): void {
  for (const name of ['sessions', 'events'] as const) {
    const journal = store[name] as { append(records: readonly object[]): Promise<void> }
    const append = journal.append.bind(journal)
    journal.append = async (records) => {
      const appended = process.isAlive ? observer.onAppend(process.name, name, records) : undefined
      try {
        await append(records)
      } catch (error) {
        appended?.onFailed()
        throw error
      }
      if (process.isAlive) appended?.onAcknowledged()
    }
  }
}
