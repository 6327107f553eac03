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

/**
 * Runs a script in another process and returns for how many milliseconds its timers keep that process alive after the last line.
 * The durations of the timers are read and not measured, because a busy machine delays the end of a process.
 */
function aliveAfter(script: string): number {
  const text = `
    import { createHook } from 'node:async_hooks'
    import { guard } from './holdfast.mjs'
    const timers = []
    createHook({ init: (id, type, trigger, timer) => type === 'Timeout' && timers.push(timer) }).enable()
    const api = guard({ timeout: { attempt: '1h', total: '2h' }, retry: { baseDelay: '1h', maxDelay: '1h' }, breaker: {} })
    ${script}
    const active = timers.filter((timer) => !timer._destroyed && timer.hasRef())
    console.log(timers.length, Math.max(0, ...active.map((timer) => timer._idleTimeout)))`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 150_000,
  })
  expect(stderr).toBe('')
  // The status is null if the process had to be killed.
  expect(status).toBe(0)
  const [started = 0, longest = Infinity] = stdout.split(' ').map(Number)
  expect(started).toBeGreaterThan(0)
  return longest
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
  'no timer keeps a process alive for a second after a call that %s, regardless of its deadlines',
  (_, script) => {
    expect(aliveAfter(script)).toBeLessThan(1000)
  },
)
