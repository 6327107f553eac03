// `npm run example:rag`; `--verbose` prints every log line.
import { run } from './example.js'
import type { LogLine } from './log.js'
import { Server } from './server.js'
import { tableOf } from './table.js'
import { now } from './time.js'

const DOCUMENTS = 50
/** The number of log lines that are printed for each operation and level without `--verbose`. */
const SHOWN = 3

const verbose = process.argv.includes('--verbose')

function logger(): (line: LogLine) => void {
  const seen = new Map<string, number>()
  return ({ level, operation, text }) => {
    const key = `${level} ${operation} ${text.includes('succeeded')}`
    const count = (seen.get(key) ?? 0) + 1
    seen.set(key, count)
    if (verbose || (level !== 'debug' && count <= SHOWN)) console.log(`  ${level.padEnd(5)} ${text}`)
    else if (level !== 'debug' && count === SHOWN + 1) console.log(`  ${level.padEnd(5)} … more like this`)
  }
}

const startedAt = now()
console.log('starting PostgreSQL …')
const server = await Server.start()
try {
  console.log(`writing ${5 * DOCUMENTS} documents without retries`)
  const without = await run(server, false, DOCUMENTS, logger())
  console.log(`writing ${5 * DOCUMENTS} documents with retries`)
  const withRetries = await run(server, true, DOCUMENTS, logger())
  console.log(`\n${tableOf(without, withRetries)}`)
  const { constraint, argument } = withRetries.attempts
  console.log(
    `\nattempts after a constraint violation: ${constraint}, after an invalid argument: ${argument}`,
  )
  const { missing, duplicate, partial } = withRetries.findings
  if (missing + duplicate + partial > 0) process.exitCode = 1
} finally {
  await server.remove()
}
console.log(`done in ${((now() - startedAt) / 1000).toFixed(1)} s`)
