// Writes documents during a fault, and records errors and recovery times.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { GuardEvent } from 'holdfast'
import pg from 'pg'
import type { Fault } from './faults.js'
import type { Server } from './server.js'
import { type Document, GraphStorage, VectorStorage } from './storage.js'
import { now, sleep } from './time.js'

/** The outcome of one fault. */
export interface Outcome {
  readonly fault: string
  readonly written: number
  readonly failed: number
  /** The longest time between the first failed attempt at a document and its success, in milliseconds. */
  readonly recovery: number | undefined
  /** The number of failed attempts by SQLSTATE, code or message. */
  readonly errors: ReadonlyMap<string, number>
}

/** The documents of one fault. For deadlocks, neighbouring documents mention the same entities in reverse order. */
export function documentsOf({ name, pause }: Fault, count: number): Document[] {
  return Array.from({ length: count }, (_, i) => {
    const pair = (i >> 1) % 6
    const entities = [`${name}: entity ${pair}`, `${name}: entity ${pair + 1}`]
    return {
      id: `${name} ${i}`,
      title: `Document ${i}`,
      chunks: Array.from({ length: 4 }, (_, position) => [i, position]),
      entities: pause !== undefined && i % 2 === 1 ? entities.toReversed() : entities,
    }
  })
}

export const poolOf = (server: Server): pg.Pool =>
  new pg.Pool({
    ...server.address,
    user: 'rag',
    password: 'rag',
    database: 'rag',
    application_name: 'writers',
    max: 6,
    connectionTimeoutMillis: 5000,
  })

/** Writes documents with six workers, and starts the fault shortly after. */
export async function write(
  server: Server,
  pool: pg.Pool,
  fault: Fault,
  documents: readonly Document[],
  listen: (listener: (event: GuardEvent) => void) => void,
): Promise<Outcome> {
  const [vectors, graph] = [new VectorStorage(pool), new GraphStorage(pool)]
  const errors = new Map<string, number>()
  const present = new AsyncLocalStorage<{ failedAt?: number }>()
  let [written, failed, recovery] = [0, 0, 0]
  listen((event) => {
    if (event.type !== 'attempt_failed') return
    const { code, message } = event.error as { code?: string; message: string }
    errors.set(code ?? message, (errors.get(code ?? message) ?? 0) + 1)
    const document = present.getStore()
    if (document !== undefined) document.failedAt ??= now()
  })

  const queue = documents.values()
  const worker = async () => {
    for (const document of queue) {
      const state: { failedAt?: number } = {}
      try {
        await present.run(state, async () => {
          await vectors.addDocument(document)
          await graph.upsertEntities(document.id, document.entities, fault.pause)
        })
        written++
        if (state.failedAt !== undefined) recovery = Math.max(recovery, now() - state.failedAt)
      } catch {
        failed++
      }
      // The pause spreads the documents over time, so that the fault happens between them.
      await sleep(20)
    }
  }
  const workers = Array.from({ length: 6 }, worker)
  await sleep(30)
  await fault.strike?.(server)
  await Promise.all(workers)
  return { fault: fault.name, written, failed, recovery: recovery || undefined, errors }
}
