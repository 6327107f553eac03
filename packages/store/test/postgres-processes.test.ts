import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const driver = fileURLToPath(new URL('../../runtime/test/crash/postgres.mjs', import.meta.url))

it('a PostgreSQL store loses no entry, completes none twice and leaves none stuck when workers, connections and the server end', async () => {
  const { stdout, stderr } = await run(process.execPath, [driver, '80', '3'])
  console.log(stdout, stderr)
  expect(stdout).toContain('nothing lost, nothing twice, nothing stuck')
  // Processes and servers are started on a machine that may be busy with other things.
}, 400_000)
