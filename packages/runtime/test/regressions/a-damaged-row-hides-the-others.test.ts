import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { openSqliteDriver } from '../../../store/src/sqlite/driver.js'
import { failing, folder, refused, start } from '../holdfast/setup.js'

it('a damaged row of a SQLite store is skipped in lists, reported once, and visible in health', async () => {
  const file = join(await folder(), 'holdfast.db')
  const { hf } = await start({ policies: { once: { maxAttempts: 1 } } }, { store: `sqlite:${file}` })
  const fail = async (name: string) => {
    await failing(hf, 'once', refused, { name })
    return (await hf.sessions.list()).items[0]
  }
  await fail('a')
  const damaged = await fail('b')
  await fail('c')
  expect((await hf.health()).status).toBe('ok')
  const driver = await openSqliteDriver(file)
  driver.prepare('UPDATE sessions SET body = ? WHERE first = 2').run(['[{"session_id": "hunter2'])
  driver.close()
  const said = vi.spyOn(console, 'error').mockReturnValue()
  for (const order of ['newest', 'oldest'] as const) {
    const { items } = await hf.sessions.list({ order })
    expect(items.map(({ operation }) => operation).toSorted()).toEqual(['a', 'c'])
  }
  expect(await hf.sessions.get(damaged?.sessionId ?? '')).toBeUndefined()
  expect(said.mock.calls.map(([line]) => String(line))).toEqual([
    expect.stringMatching(/^holdfast: the SQLite file .*holdfast\.db: .* of sessions .*damaged/),
  ])
  said.mockRestore()
  expect((await hf.health()).status).toBe('degraded')
})
