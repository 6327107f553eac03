// The worker that checks a large config loaded the modules of --import and NODE_OPTIONS, and a module that opened Holdfast
// with that config started one worker in another without end.
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sourceAliases } from '../../../../scripts/packages.mjs'
import { buildWorker } from '../build-worker.js'

let dir = ''
let preload = ''

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-preload-'))
  preload = join(dir, 'preload.mjs')
  await buildWorker(join(dir, 'worker.cjs'))
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/file/check-text.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: join(dir, 'check-text.cjs'),
    alias: sourceAliases,
    logLevel: 'error',
  })
  await writeFile(join(dir, 'empty.mjs'), '')
  await writeFile(
    preload,
    `import { threadId } from 'node:worker_threads'
    import { checkText } from './check-text.cjs'
    console.log('loaded in the thread', threadId)
    if (threadId > 0) process.exit()
    const policies = Array.from({ length: 3000 }, (_, i) => '  p' + i + ': { max_attempts: 1, base_delay: 1 }')
    let workers = 0
    process.on('worker', () => workers++)
    const { problems } = await checkText('version: "1.1.0"\\npolicies:\\n' + policies.join('\\n'), {}, () =>
      ${JSON.stringify(join(dir, 'worker.cjs'))})
    console.log(problems.length, 'problems,', workers, 'worker')`,
  )
})

afterAll(() => rm(dir, { recursive: true, force: true }))

it.each(['an option', 'NODE_OPTIONS'])(
  'the worker that checks a large config does not load a module that %s loads before the program',
  async (place) => {
    const option = `--import=${pathToFileURL(preload).href}`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...(place === 'an option' ? [option] : []), join(dir, 'empty.mjs')],
      { env: { ...process.env, NODE_OPTIONS: place === 'NODE_OPTIONS' ? option : '' } },
    )
    expect(stdout).toBe('loaded in the thread 0\n0 problems, 1 worker\n')
  },
)
