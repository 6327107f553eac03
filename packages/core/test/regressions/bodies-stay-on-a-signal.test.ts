// The listener of a body on the caller's signal kept the body itself, through the signal of its attempt: bodies that were
// read stayed in memory as long as the caller's signal.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-bodies-'))
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/http/index.ts', import.meta.url))],
    outfile: join(dir, 'http.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
  })
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** Runs a script that can collect garbage, beside a server whose path `/open` never ends its body; returns what it prints. */
async function run(options: object, script: string): Promise<unknown> {
  const file = join(await mkdtemp(join(dir, 'run-')), 'script.mjs')
  await writeFile(
    file,
    `import { createServer } from 'node:http'
    import { createFetch } from '../http.mjs'
    const server = createServer(({ url }, response) => (url === '/open' ? response.write('begun') : response.end('body')))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = 'http://127.0.0.1:' + server.address().port
    const resilient = createFetch(${JSON.stringify(options)})
    const controller = new AbortController()
    const { signal } = controller
    async function collectGarbage() {
      for (let i = 0; i < 10; i++) {
        await new Promise(setImmediate)
        gc()
      }
    }
    ${script}
    process.exit()`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', file])
  return JSON.parse(stdout)
}

describe.each([
  ['with a deadline', { timeout: { attempt: '1h' } }],
  ['with hedging', { hedge: { delay: '1h' } }],
])('a fetch %s and a signal that is never aborted', (_, options) => {
  it('does not keep the bodies that were read in memory', async () => {
    const kept = await run(
      options,
      `const bodies = []
      for (let i = 0; i < 100; i++) {
        const response = await resilient(url, { signal })
        bodies.push(new WeakRef(response.body))
        await response.text()
      }
      await collectGarbage()
      console.log(bodies.filter((body) => body.deref() !== undefined).length)`,
    )
    expect(kept).toBeLessThan(50)
  })

  it('aborts the reading of a body after a garbage collection', async () => {
    const outcome = await run(
      options,
      `const text = (await resilient(url + '/open', { signal })).text().catch((error) => error)
      await collectGarbage()
      controller.abort('enough')
      console.log(JSON.stringify(await text))`,
    )
    expect(outcome).toBe('enough')
  })
})
