import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkConfig } from '../src/check/check.js'
import { checkText } from '../src/file/check-text.js'
import { describeProblem } from '../src/problems/describe.js'
import { buildWorker } from './build-worker.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-worker-'))
const entry = join(folder, 'worker.cjs')
const silent = join(folder, 'silent.cjs')
const broken = join(folder, 'broken.cjs')

beforeAll(async () => {
  await buildWorker(entry)
  writeFileSync(silent, '')
  writeFileSync(broken, 'throw new Error("no")')
})

afterAll(() => rmSync(folder, { recursive: true }))

const LARGE = `version: "1.1.0"\npolicies:\n${Array.from(
  { length: 1000 },
  (_, i) => `  p${i}: { name: "Policy number ${i}", max_attempts: .inf, base_delay: 1, max_delay: \${CAP} }`,
).join('\n')}\n`
const options = { file: 'big.yaml', env: { CAP: '10' } }

test('a large text is checked in a worker with the same result', async () => {
  expect(Buffer.byteLength(LARGE)).toBeGreaterThan(64 * 1024)
  let asked = 0
  const checked = await checkText(LARGE, options, () => {
    asked++
    return entry
  })
  expect(asked).toBe(1)
  expect(checked).toEqual(checkConfig(LARGE, options))
  expect(checked.config?.policies?.p999).toMatchObject({
    maxDelay: 10_000,
    maxAttempts: Number.POSITIVE_INFINITY,
  })
  expect(Object.isFrozen(checked.config?.policies?.p999)).toBe(true)
})

test('the result of a worker is returned in a turn of its own', async () => {
  let turns = 0
  process.once('worker', (worker) => worker.once('message', () => setImmediate(() => turns++)))
  await checkText(LARGE, options, () => entry)
  expect(turns).toBe(1)
})

test('problems of a large text are the same as those of a small one', async () => {
  const wrong = await checkText(`${LARGE}polices: {}\n`, options, () => entry)
  expect(wrong.problems.map(describeProblem)).toEqual([
    { path: 'polices', line: 1003, column: 1, message: 'unknown key of the config (did you mean policies?)' },
  ])
})

test.each([
  ['is not there', () => join(folder, 'nowhere.cjs')],
  [
    'cannot be found',
    () => {
      throw new Error('no such entry')
    },
  ],
  ['says nothing', () => silent],
  ['throws', () => broken],
])('a text is checked in the main thread where the worker %s', async (_name, noWorker) => {
  expect((await checkText(LARGE, options, noWorker)).config?.policies?.p7).toMatchObject({ maxDelay: 10_000 })
})

test('a small text is checked without a worker', async () => {
  const never = () => {
    throw new Error('asked')
  }
  expect((await checkText('version: "1.1.0"', options, never)).config).toEqual({ version: '1.1.0' })
})
