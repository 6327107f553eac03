import { Violation } from '../engine/violation.js'
import type { SimulatedNode } from '../process/simulated-node.js'

/** The part of a store in PostgreSQL that has connections. */
interface ConnectedStore {
  readonly state?: {
    readonly database: {
      readonly pool?: { readonly lentCount: number }
      readonly running: ReadonlySet<unknown>
    }
  }
}

/** Checks the promise that a transaction returns its connection to the pool: there are no more connections in use than transactions. */
export function checkConnections(nodes: readonly SimulatedNode[]): void {
  for (const { process, runtime } of nodes) {
    const { database } = (runtime?.store as ConnectedStore | undefined)?.state ?? {}
    if (process === undefined || database?.pool === undefined) continue
    const { pool, running } = database
    if (pool.lentCount > running.size)
      throw new Violation(
        'memory',
        `${process.name} uses ${pool.lentCount} connections to PostgreSQL with ${running.size} transactions`,
      )
  }
}
