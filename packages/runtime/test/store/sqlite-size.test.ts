import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import { event } from '../../../store/test/contract/records.js'
import { Holdfast } from '../../src/index.js'

/** The free space that retention leaves in the file for new records: 4 MiB. */
const FREE_BYTES = 4 * 1024 * 1024
const MAX_ENTRIES = 100

it('the file of a SQLite store shrinks within a minute after records became too many', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-size-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'holdfast.db')
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const hf = await Holdfast.open({
    config: { version: '1.2.0', store: `sqlite:${file}`, events: { maxEntries: MAX_ENTRIES } },
    clock,
    env: {},
    watch: false,
  })
  onTestFinished(() => hf.close())
  const { housekeeping } = (hf as unknown as { container: { housekeeping: { currentRun: Promise<void> } } })
    .container
  /** Advances the clock, and waits for the tasks that are due. They use a real file, so they take real time. */
  const advance = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await housekeeping.currentRun
  }
  const sizes = async () => ({ file: (await stat(file)).size, log: (await stat(`${file}-wal`)).size })

  for (let from = 0; from < 20_000; from += 2000)
    await hf.store.events.append(
      Array.from({ length: 2000 }, (_, i) => ({
        ...event(from + i, { timestamp: new Date(clock.wall()) }),
        context: { note: randomBytes(300).toString('hex') },
      })),
    )
  await advance(59_000)
  const before = await sizes()
  expect(await hf.store.events.count()).toBe(20_000)
  expect(before.file + before.log).toBeGreaterThan(3 * FREE_BYTES)

  await advance(1000)
  expect(await hf.store.events.count()).toBe(MAX_ENTRIES)
  const after = await sizes()
  expect(after.log).toBe(0)
  expect(after.file).toBeLessThan(FREE_BYTES + 1024 * 1024)
})
