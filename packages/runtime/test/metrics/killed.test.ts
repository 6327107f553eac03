import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import { Holdfast } from '../../src/index.js'
import { compile } from '../dead-letters/compile.js'

const WALL = Date.UTC(2026, 0, 1)

it.each(['files', 'sqlite'])(
  'a killed process loses the counts since the last save, and no others, in a %s store',
  async (kind) => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-metrics-'))
    onTestFinished(() => rm(dir, { recursive: true, force: true }))
    const store = kind === 'files' ? `files:${dir}` : `sqlite:${join(dir, 'holdfast.db')}`
    const program = await compile('packages/runtime/test/metrics/killed-child.ts', 'metrics-killed')
    const child = spawn(process.execPath, [program, store, String(WALL)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')

    const clock = fakeClock({ wall: WALL + 20_000 })
    const hf = await Holdfast.open({ config: { policies: {} }, store, clock })
    const window = await hf.metrics.window({ from: new Date(WALL), to: new Date(WALL + 60_000) })
    expect(window.totalSessions).toBe(5)
    await hf.close()
  },
)
