import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FakeClock, fakeClock, seededRandom } from 'holdfast/testing'
import { onTestFinished } from 'vitest'
import { Holdfast, type OpenOptions, type RetryEvent } from '../../src/index.js'

export interface Started {
  hf: Holdfast
  clock: FakeClock
  events: RetryEvent[]
}

/** A runtime on a clock of the test's, closed after it. */
export async function start(config: string | object, more: OpenOptions = {}): Promise<Started> {
  const clock = (more.clock as FakeClock | undefined) ?? fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const hf = await Holdfast.open({ config, random: seededRandom(7), env: {}, ...more, clock })
  onTestFinished(() => hf.close())
  const events: RetryEvent[] = []
  hf.events.on('*', (event) => void events.push(event))
  return { hf, clock, events }
}

/** A folder of the test's, with files in it. */
export async function folder(files: Record<string, string> = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  return dir
}

export const timeout = () => Object.assign(new Error('took too long'), { name: 'TimeoutError' })
export const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
export const unauthorized = () => Object.assign(new Error('401 from the API'), { status: 401 })

/** Runs what always fails, and gives the error. */
export const failing = (hf: Holdfast, operation: string, error: () => unknown, options?: object) =>
  hf.run(operation, () => Promise.reject(error()), options).catch((thrown: unknown) => thrown)
