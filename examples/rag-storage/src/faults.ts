// The faults of the server while documents are written.
import pg from 'pg'
import type { Server } from './server.js'
import { sleep } from './time.js'

/** A fault that starts while documents are written, and ends when its promise resolves. */
export interface Fault {
  readonly name: string
  /** How long transactions hold one row before they take the next, in milliseconds. */
  readonly pause?: number
  strike?(server: Server): Promise<void>
}

const terminate = (server: Server) =>
  server.admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'rag'`)

/** Opens connections until the server rejects the next one. */
async function takeAll(server: Server): Promise<pg.Client[]> {
  const taken: pg.Client[] = []
  for (;;) {
    const client = new pg.Client({ ...server.address, user: 'rag', password: 'rag', database: 'rag' })
    client.on('error', () => {})
    try {
      await client.connect()
      taken.push(client)
    } catch {
      return taken
    }
  }
}

export const FAULTS: readonly Fault[] = [
  { name: 'none' },
  { name: 'server restarted', strike: (server) => server.restart() },
  {
    name: 'connections terminated',
    async strike(server) {
      for (let i = 0; i < 5; i++) {
        await terminate(server)
        await sleep(60)
      }
    },
  },
  { name: 'deadlocks', pause: 40 },
  {
    name: 'connections run out',
    async strike(server) {
      const first = await takeAll(server)
      // The connections of the writers are terminated, and other clients take their place.
      await server.admin(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'writers'`,
      )
      const all = [...first, ...(await takeAll(server))]
      await sleep(700)
      await Promise.all(all.map((client) => client.end()))
    },
  },
]
