import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { folder } from './setup.js'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

it('a process exits after its runtime is closed, whatever was called afterwards', async () => {
  const dir = await folder({
    'holdfast.yaml': `version: "1.1.0"
policies: { p: { max_attempts: 2, backoff_type: immediate } }
circuit_breakers: { n: { persist_state: true } }
store: sqlite:h.db
`,
  })
  const program = `
    import { Holdfast } from '@holdfast/runtime'
    const hf = await Holdfast.open(${JSON.stringify(join(dir, 'holdfast.yaml'))})
    await hf.run('p', () => Promise.reject(new Error('down')), { payload: 1 }).catch(() => {})
    const reload = hf.config.reload().catch(() => {})
    await hf.close()
    await reload
    await hf.breakers.trip('service:n').catch(() => {})
    console.log('closed')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: root })
  let out = ''
  child.stdout.on('data', (data: Buffer) => {
    out += data
  })
  // At `exit` its output may not have been read.
  const [code] = (await once(child, 'close')) as [number | null]
  expect([code, out]).toEqual([0, 'closed\n'])
})
