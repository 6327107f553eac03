import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { type Checked, checkConfig } from '../../src/config/check.js'
import { checkText } from '../../src/config/file/check-text.js'

const policies = (count: number): string =>
  `version: "1.1.0"\npolicies:\n${Array.from({ length: count }, (_, i) => `  p${i}: { name: "Policy number ${i}", max_attempts: 3, base_delay: 1, max_delay: \${CAP} }`).join('\n')}\n`

test('a large text comes to the same as a small one', async () => {
  const env = { CAP: '10' }
  const large = policies(1000)
  expect(Buffer.byteLength(large)).toBeGreaterThan(64 * 1024)
  const checked = await checkText(large, { file: 'big.yaml', env })
  expect(checked).toEqual(checkConfig(large, { file: 'big.yaml', env }))
  expect(checked.config?.policies?.p999).toMatchObject({ maxDelay: 10_000 })
  expect(Object.isFrozen(checked.config?.policies?.p999)).toBe(true)
  const wrong = await checkText(`${large}polices: {}\n`, { file: 'big.yaml', env })
  expect(wrong.problems.map(({ path }) => path)).toEqual(['polices'])
})

test('the entry of the worker answers what the check says', async () => {
  const entry = fileURLToPath(new URL('../../src/config/worker.ts', import.meta.url))
  const core = fileURLToPath(new URL('../../../core/src', import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    alias: {
      'holdfast/engine': join(core, 'engine/index.ts'),
      'holdfast/decorators': join(core, 'decorators/index.ts'),
      holdfast: join(core, 'index.ts'),
    },
  })
  const text = policies(3)
  const options = { env: { CAP: '5' } }
  const worker = new Worker(outputFiles[0]?.text ?? '', { eval: true, workerData: { text, options } })
  const answer = await new Promise<Checked>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  await worker.terminate()
  expect(answer).toEqual(checkConfig(text, options))
})
