// V8 discards optimised code whose classes have no live instance at a full garbage collection: calls then cost several
// times as much until the code was compiled again. V8 reports it, so nothing is timed here.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'

const CALLS: Record<string, string> = {
  'wrapped functions that succeed': `guard({ breaker: {} }).wrap(succeed)`,
  'functions that succeed': `(() => { const g = guard({ breaker: {} }); return () => g.run(succeed) })()`,
  'functions with deadlines': `(() => { const g = guard({ timeout: { attempt: 30000 } }); return () => g.run(succeed) })()`,
  'functions that fail': `guard({ retry: { backoffType: 'immediate' } }).wrap(fail)`,
  'calls that an open breaker rejects': `(() => { const g = guard({ breaker: {} }); g.breaker.trip(); return () => g.run(succeed) })()`,
  'calls through a bulkhead': `(() => { const g = guard({ bulkhead: { limit: 5 } }); return () => g.run(succeed) })()`,
  'calls with a signal': `(() => { const g = guard(), { signal } = new AbortController(); return () => g.run(succeed, { signal }) })()`,
  'calls to a pool': `(() => { const g = guard({ pool: new Pool({ id: 'p', members: [{ id: 'a', value: 1 }, { id: 'b', value: 2 }] }) }); return () => g.run(succeed) })()`,
}

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-collection-'))
  const entry = fileURLToPath(new URL('../../src/index.ts', import.meta.url))
  await build({
    entryPoints: [entry],
    outfile: join(dir, 'holdfast.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
  })
})
afterAll(() => rm(dir, { recursive: true, force: true }))

it.each(Object.keys(CALLS))(
  'optimised code for %s survives a full garbage collection between calls',
  async (name) => {
    const file = join(dir, `${Object.keys(CALLS).indexOf(name)}.mjs`)
    await writeFile(
      file,
      `import { guard, Pool } from './holdfast.mjs'
    async function succeed() { return 7 }
    const made = new Error('made beforehand')
    async function fail() { throw made }
    const call = ${CALLS[name]}
    const loop = async (times) => { for (let i = 0; i < times; i++) { try { await call() } catch {} } }
    for (let i = 0; i < 4; i++) {
      await loop(5000)
      await new Promise(setImmediate)
      gc()
    }
    process.exit()`,
    )
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', '--trace-deopt', file], {
      maxBuffer: 1e8,
    })
    expect(stdout.split('\n').filter((line) => /reason: weak objects/.test(line))).toEqual([])
  },
)
