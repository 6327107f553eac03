import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { serializeLayer } from '../layer-rows.js'
import { serializeValue } from '../payload.js'
import type { LayerStore, Store, ValueStore } from '../store.js'
import { bufferDeadLetters } from './dead-letter-buffer.js'
import { createLocalHost, type TableHost, tablesOf } from './host.js'
import { JournalBuffer, SessionBuffer } from './journal-buffer.js'
import { auditTable, breakerEventTable, errorTable, eventTable, sessionTable } from './journal-tables.js'
import { nodePlatform, type SqlitePlatform } from './platform.js'
import type { TableOptions } from './tables.js'
import { ThreadHost, ThreadStartError } from './thread-host.js'
import type { StartThread } from './thread-port.js'
import { createWorkerStarter } from './worker-thread.js'

/** Options of a store in SQLite. */
export interface SqliteOptions extends TableOptions {
  /** The program of the thread that has the connection. Without one, the connection is in this thread. */
  threadEntry?: URL | undefined
  /** Starts the thread. @defaultValue a worker thread with the program */
  startThread?: StartThread | undefined
  platform?: SqlitePlatform | undefined
}

/** The program of the thread in the built package. */
const THREAD_FILE = 'holdfast-sqlite-thread.js'

/** The program of the thread; undefined in sources, and in bundles that do not contain it. */
function findThreadEntry(): URL | undefined {
  try {
    // Not `new URL(name, import.meta.url)`, because bundlers copy such a file without the files that it imports.
    const file = join(dirname(fileURLToPath(import.meta.url)), THREAD_FILE)
    return existsSync(file) ? pathToFileURL(file) : undefined
  } catch {
    return undefined // a bundle in CommonJS has no import.meta.url
  }
}

/**
 * Creates a store in one SQLite file, for any number of processes. The file is created by `open`. This thread serializes records;
 * a thread of its own has the connection where that is possible.
 */
export function openSqlite(file: string, options: SqliteOptions = {}): Store {
  const { threadEntry = findThreadEntry(), platform = nodePlatform, ...others } = options
  const { startThread = threadEntry && createWorkerStarter(threadEntry), ...tableOptions } = others
  const createLocal = () => createLocalHost(file, tableOptions, platform)
  let host: TableHost =
    startThread === undefined ? createLocal() : new ThreadHost(file, tableOptions, startThread)
  const tables = tablesOf(() => host)
  const onFull = () => host.commitNow?.()
  const sessions = new SessionBuffer(tables.sessions, sessionTable, { onFull, platform })
  const events = new JournalBuffer(tables.events, eventTable, { onFull, platform })
  const errors = new JournalBuffer(tables.errors, errorTable, { onFull, platform })
  const audit = new JournalBuffer(tables.audit, auditTable, { isDurable: true, platform })
  const breakerEvents = new JournalBuffer(tables.breakerEvents, breakerEventTable, { onFull, platform })
  const deadLetters = bufferDeadLetters(tables.deadLetters, platform)

  async function openFile(): Promise<void> {
    try {
      await tables.file.open()
    } catch (error) {
      if (!(error instanceof ThreadStartError)) throw error
      console.error(
        `holdfast: the SQLite store ${file} uses the main thread, because its own cannot be started: ${error.message}`,
      )
      host = createLocal()
      await tables.file.open()
    }
  }
  function closeFile(): Promise<void> {
    for (const buffer of [sessions, events, errors, audit, breakerEvents, deadLetters]) buffer.flush()
    return tables.file.close()
  }
  /** The last call of `open` or `close`. Each waits for the one before it. */
  let lastChange: Promise<void> = Promise.resolve()
  const inOrder = (change: () => Promise<void>): Promise<void> => {
    lastChange = lastChange.then(change, change)
    return lastChange
  }
  return {
    kind: 'sqlite',
    get damaged() {
      return host.hasUnreadableRows
    },
    sessions,
    events,
    errors,
    audit,
    breakerEvents,
    breakers: tables.breakers,
    metrics: tables.metrics,
    layers: withPlainLayers(tables.layers),
    deadLetters,
    values: withPlainValues(tables.values),
    open: () => inOrder(openFile),
    close: () => inOrder(closeFile),
    freeSpace: () => platform.readFreeSpace(file),
  }
}

/** Layers are stored as JSON, so that another thread can receive any value that has a JSON form. */
const withPlainLayers = (layers: LayerStore): LayerStore => ({
  ...layers,
  append: async (version, after) =>
    layers.append({ ...version, layer: JSON.parse(serializeLayer(version.layer)) as unknown }, after),
  rewrite: async (version, layer) => layers.rewrite(version, JSON.parse(serializeLayer(layer)) as unknown),
})

/** Named values are stored as JSON. @throws INVALID_OPTIONS for a value without a JSON form */
const withPlainValues = (values: ValueStore): ValueStore => ({
  ...values,
  set: async (key, value) => values.set(key, JSON.parse(serializeValue(key, value)) as unknown),
})
