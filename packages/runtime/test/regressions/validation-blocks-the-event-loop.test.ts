import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as config from '@holdfast/config'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { buildWorker } from '../../../config/test/build-worker.js'
import { start } from '../holdfast/setup.js'

// A text of 1 MB was validated in the main thread, which took one to three seconds. A user with the role `viewer` can send such texts.

const folder = mkdtempSync(join(tmpdir(), 'holdfast-worker-'))
const worker = join(folder, 'worker.cjs')

beforeAll(() => buildWorker(worker))
afterAll(() => rmSync(folder, { recursive: true }))

vi.mock('@holdfast/config', async (importOriginal) => {
  const original = await importOriginal<typeof config>()
  const checkText: typeof config.checkText = (text, options) =>
    original.checkText(text, options, () => worker)
  return { ...original, checkText }
})

it('a large text is validated outside of the main thread', async () => {
  const { hf } = await start({})
  const policies = Array.from({ length: 5000 }, (_, i) => `  policy_${i}: { max_attempt: 3 }\n`)
  let results = 0
  process.once('worker', (thread) => thread.once('message', () => results++))
  const { valid, errors } = await hf.config.validate(`version: "1.2.0"\npolicies:\n${policies.join('')}`)
  expect(results).toBe(1)
  expect(valid).toBe(false)
  expect(errors).toHaveLength(5000)
  expect(errors[0]).toMatchObject({ path: 'policies.policy_0.max_attempt', line: 3 })
})

it('a value that is not a text is reported, and later texts are validated', async () => {
  const { hf } = await start({})
  expect((await hf.config.validate(7 as never)).errors[0]?.message).toContain('expected a string')
  expect((await hf.config.validate('version: "1.2.0"')).valid).toBe(true)
})

it('texts that wait for their validation are not validated after a close', async () => {
  const { hf } = await start({})
  const isStarted = new Promise((resolve) => process.once('worker', resolve))
  const large = `# ${'x'.repeat(100_000)}\nversion: "1.2.0"\n`
  const first = hf.config.validate(large)
  const rejected = expect(hf.config.validate(large)).rejects.toMatchObject({ code: 'CANCELLED' })
  await isStarted
  await hf.close()
  expect((await first).valid).toBe(true)
  await rejected
})
