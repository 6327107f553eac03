import { nextMacrotask } from 'holdfast/internal'
import { auditFilter, breakerEventFilter, errorFilter, eventFilter, sessionFilter } from '../filters.js'
import type { Store } from '../store.js'
import { MemoryBreakers } from './breakers.js'
import { MemoryDeadLetters } from './dead-letters.js'
import { MemoryJournal, MemorySessions } from './journal.js'
import { MemoryLayers } from './layers.js'
import { MemoryMetrics } from './metrics.js'
import { MemoryValues } from './values.js'

/** Options of a store in memory. */
export interface MemoryStoreOptions {
  /** How many of its newest records each journal keeps. @defaultValue 10_000 */
  maxEntries?: number | undefined
  /** Gives timers and sockets a turn between parts of long work. @defaultValue a turn of the event loop */
  nextTurn?: (() => Promise<void>) | undefined
}

/** Creates a store in the memory of one process. Its records are lost when the process ends; it is never unavailable. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { maxEntries = 10_000, nextTurn = nextMacrotask } = options
  return {
    kind: 'memory',
    private: true,
    sessions: new MemorySessions(sessionFilter, maxEntries),
    events: new MemoryJournal(eventFilter, maxEntries),
    errors: new MemoryJournal(errorFilter, maxEntries),
    audit: new MemoryJournal(auditFilter, maxEntries),
    breakerEvents: new MemoryJournal(breakerEventFilter, maxEntries),
    breakers: new MemoryBreakers(),
    metrics: new MemoryMetrics(),
    layers: new MemoryLayers(),
    deadLetters: new MemoryDeadLetters(nextTurn),
    values: new MemoryValues(),
    open: async () => {},
    close: async () => {},
    freeSpace: async () => undefined,
  }
}
