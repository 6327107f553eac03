import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const driver = fileURLToPath(new URL('../../runtime/test/crash/main.mjs', import.meta.url))

it('a files store loses no acknowledged entry and completes none twice when processes are killed', async () => {
  const { stdout } = await run(process.execPath, [driver, 'files', '5', '100'])
  console.log(stdout)
  expect(stdout).toContain('nothing lost, nothing twice')
  // Processes are started and files flushed on a machine that may be busy with other things.
}, 300_000)
