// The timer of a deadline that no longer mattered kept the process alive until it was due.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
  const entry = fileURLToPath(new URL('../../src/index.ts', import.meta.url))
  buildSync({ entryPoints: [entry], bundle: true, format: 'esm', outfile: join(folder, 'holdfast.mjs') })
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a script in another process and returns how many milliseconds that process lived after the last line. */
function livesOn(script: string): number {
  const text = `
    import { guard } from './holdfast.mjs'
    const api = guard({ timeout: { attempt: '30s', total: '60s' }, retry: { baseDelay: '30s' }, breaker: {} })
    ${script}
    const last = performance.now()
    process.on('exit', () => console.log(performance.now() - last))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 25_000,
  })
  expect(stderr).toBe('')
  return Number.parseFloat(stdout || 'Infinity')
}

it.each([
  ['succeeded', `await api.run(async () => 'up')`],
  ['succeeded a little later', `await api.run(() => new Promise((resolve) => setTimeout(resolve, 20)))`],
  ['failed', `await api.run(() => Promise.reject('no error')).catch(() => {})`],
  [
    'was aborted in its attempt',
    `const controller = new AbortController()
     const call = api.run(() => new Promise(() => {}), { signal: controller.signal }).catch(() => {})
     setTimeout(() => controller.abort(), 20)
     await call`,
  ],
  [
    'was aborted in its wait',
    `const controller = new AbortController()
     const call = api.run(() => Promise.reject(new Error('down')), { signal: controller.signal }).catch(() => {})
     setTimeout(() => controller.abort(), 20)
     await call`,
  ],
])(
  'a process ends within a second of a call that %s, regardless of its deadlines',
  (_, script) => {
    expect(livesOn(script)).toBeLessThan(1000)
  },
  30_000,
)
