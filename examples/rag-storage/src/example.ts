// Writes the same documents with and without retries, under the same faults of the server.
import type { GuardEvent } from 'holdfast'
import { configureDecorators } from 'holdfast/decorators'
import { check, type Findings } from './check.js'
import { FAULTS } from './faults.js'
import { type LogLine, lineOf } from './log.js'
import { SCHEMA } from './schema.js'
import type { Server } from './server.js'
import { VectorStorage } from './storage.js'
import { documentsOf, type Outcome, poolOf, write } from './write.js'

/** The result of one run. */
export interface Run {
  readonly outcomes: readonly Outcome[]
  readonly findings: Findings
  readonly lines: readonly LogLine[]
  /** The number of attempts for a row that the database rejects, and for one that the method rejects. */
  readonly attempts: { readonly constraint: number; readonly argument: number }
}

/** Overrides of the settings in the classes: more retries for the graph, shorter delays for vectors. */
const OVERRIDES = {
  'GraphStorage/upsertEntities/Retry/maxRetries': 6,
  'VectorStorage/Retry/delay': 250,
  'VectorStorage/Retry/maxRetries': 5,
  'Retry/jitter': 150,
}

/** Writes all documents once for each fault. `retries: false` disables the retries of the whole program. */
export async function run(
  server: Server,
  retries: boolean,
  count: number,
  say: (line: LogLine) => void,
): Promise<Run> {
  const lines: LogLine[] = []
  let heard: (event: GuardEvent) => void = () => {}
  configureDecorators({
    overrides: { ...OVERRIDES, 'Retry/enabled': retries },
    runtime: {
      onEvent(event) {
        heard(event)
        const line = lineOf(event)
        if (line === undefined) return
        lines.push(line)
        say(line)
      },
    },
  })
  const pool = poolOf(server)
  try {
    await server.admin(`${SCHEMA} GRANT ALL ON ALL TABLES IN SCHEMA public TO rag`, 'rag')
    const outcomes: Outcome[] = []
    for (const fault of FAULTS)
      outcomes.push(
        await write(server, pool, fault, documentsOf(fault, count), (listener) => (heard = listener)),
      )
    const refused = async (id: string, title: unknown): Promise<number> => {
      let attempts = 0
      heard = ({ type }) => (attempts += type === 'attempt_failed' ? 1 : 0)
      const document = { id, title: title as string, chunks: [], entities: [] }
      await new VectorStorage(pool).addDocument(document).catch(() => {})
      return attempts
    }
    const attempts = { constraint: await refused('untitled', null), argument: await refused('', 'nameless') }
    const findings = await check(
      server,
      FAULTS.flatMap((fault) => documentsOf(fault, count)),
    )
    return { outcomes, findings, lines, attempts }
  } finally {
    await pool.end()
    configureDecorators()
  }
}
