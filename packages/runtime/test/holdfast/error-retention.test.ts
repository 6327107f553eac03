import { describe, expect, it } from 'vitest'
import type { OpenOptions } from '../../src/index.js'
import { failing, folder, refused, start } from './setup.js'

const QUICK = { policies: { quick: { maxAttempts: 1 } } }
const HOUR = 3_600_000

async function recordErrors(config: object, count: number, more: OpenOptions = {}) {
  const started = await start({ ...QUICK, ...config }, more)
  for (let i = 0; i < count; i++) await failing(started.hf, 'quick', refused)
  expect((await started.hf.errors.list()).items).toHaveLength(count)
  const { housekeeping } = (
    started.hf as unknown as { container: { housekeeping: { enforceRetention(): Promise<void> } } }
  ).container
  const kept = async () => {
    await housekeeping.enforceRetention()
    return (await started.hf.errors.list()).items.length
  }
  return { ...started, kept }
}

describe('error records in the store', () => {
  it.each(['memory', 'files:data', 'sqlite:data/hf.db'])(
    'are deleted by errors.max_age and errors.max_entries in %s',
    async (url) => {
      const dir = await folder()
      const store = url.replace(':', `:${dir}/`)
      const { clock, kept } = await recordErrors({ store, errors: { maxAge: HOUR, maxEntries: 2 } }, 3)
      expect(await kept()).toBe(2)
      await clock.advance(2 * HOUR)
      expect(await kept()).toBe(0)
    },
  )

  it('are deleted by errors.max_age, not by error_log.max_age, if both are given', async () => {
    const { clock, kept } = await recordErrors(
      { errorLog: { maxAge: HOUR }, errors: { maxAge: 3 * HOUR } },
      1,
    )
    await clock.advance(2 * HOUR)
    expect(await kept()).toBe(1)
    await clock.advance(2 * HOUR)
    expect(await kept()).toBe(0)
  })

  it('are deleted by error_log.max_age if errors.max_age is absent', async () => {
    const { clock, kept } = await recordErrors({ errorLog: { maxAge: HOUR } }, 1)
    await clock.advance(2 * HOUR)
    expect(await kept()).toBe(0)
  })

  it('are kept for 14 days by default', async () => {
    const { clock, kept } = await recordErrors({}, 1)
    await clock.advance(13 * 24 * HOUR)
    expect(await kept()).toBe(1)
    await clock.advance(2 * 24 * HOUR)
    expect(await kept()).toBe(0)
  })
})
