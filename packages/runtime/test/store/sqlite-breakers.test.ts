import { join } from 'node:path'
import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteDriver, type SqliteDriverName } from '../../../store/src/sqlite/driver.js'
import { MIGRATIONS } from '../../../store/src/sqlite/statements/schema.js'
import { storedBreaker } from '../../../store/test/contract/records.js'
import { folder, opened } from '../../../store/test/sqlite-place.js'
import { Holdfast } from '../../src/index.js'

/** This Node.js may have no SQLite of its own. */
const { getBuiltinModule } = process as { getBuiltinModule?: (id: string) => unknown }
const DRIVERS: SqliteDriverName[] = getBuiltinModule?.('node:sqlite') ? ['node:sqlite', 'libsql'] : ['libsql']
const WALL = Date.UTC(2026, 0, 29, 12)
const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

async function rowsOf(file: string) {
  const driver = await openSqliteDriver(file)
  const rows = driver.prepare('SELECT * FROM circuit_breaker_states').all([])
  driver.close()
  return rows
}

describe('a row of circuit_breaker_states', () => {
  it('has the settings of the breaker, the time of its last state change and the times of its failures', async () => {
    const file = join(await folder(), 'holdfast.db')
    const clock = fakeClock({ wall: WALL })
    const circuitBreakers = {
      mail: { failureThreshold: 5, windowDuration: 60_000, timeoutDuration: 30_000, persistState: true },
    }
    const config = { circuitBreakers }
    const hf = await Holdfast.open({ config, store: `sqlite:${file}`, clock, env: {} })
    const fail = () =>
      hf.run('send', () => Promise.reject(refused()), { service: 'mail', retry: false }).catch(() => {})
    await fail()
    await clock.advance(1500)
    await fail()
    await hf.close()
    const [row] = await rowsOf(file)
    expect(row).toMatchObject({
      proxy_id: 'mail',
      state: 'closed',
      failure_count: 2,
      failure_threshold: 5,
      window_duration: 60,
      timeout_duration: 30,
    })
    expect(JSON.parse(String(row?.failure_window_json))).toEqual([WALL / 1000, WALL / 1000 + 1.5])
    expect(row?.last_state_change).toBe(row?.created_at)
    expect(row?.created_at).toMatch(/^2026-01-29T12:00:0/)

    const again = await Holdfast.open({ config, store: `sqlite:${file}`, clock, env: {} })
    onTestFinished(() => again.close())
    const state = await again.breakers.get('service:mail')
    expect(state?.failureCount).toBe(2)
  })

  it.each(DRIVERS)('is restored with all fields, with the driver %s', async (driver) => {
    const file = join(await folder(), 'holdfast.db')
    const clock = fakeClock({ wall: WALL })
    const options = { failureThreshold: 4, windowDuration: 10_000, timeoutDuration: 2000 }
    const breaker = new CircuitBreaker({ id: 'service:x', ...options, clock })
    const { breakers } = await opened(file, { driver })
    const at = new Date(WALL)
    for (const step of [0, 1, 250, 3]) {
      await clock.advance(step)
      breaker.admit()?.failure()
      const snapshot = breaker.snapshot()
      const given = Object.fromEntries(Object.entries(snapshot).filter(([, value]) => value !== undefined))
      await breakers.save([{ snapshot, createdAt: at, updatedAt: at, settings: breaker.settings }])
      expect(await breakers.load()).toEqual([{ snapshot: given, createdAt: at, updatedAt: at }])
    }
    expect(await rowsOf(file)).toMatchObject([{ state: 'open', timeout_duration: 2, failure_threshold: 4 }])
  })

  it.each(DRIVERS)('of an earlier release is read as it was written, with the driver %s', async (driver) => {
    const file = join(await folder(), 'holdfast.db')
    const old = await openSqliteDriver(file, driver)
    for (const migration of MIGRATIONS.slice(0, 2)) old.exec(migration)
    old.exec('PRAGMA application_id = 0x486f6c64')
    old.exec('PRAGMA user_version = 2')
    const write = (id: string) =>
      old.exec(`INSERT OR REPLACE INTO circuit_breaker_states
        (proxy_id, state, failure_count, failure_window_json, next_test_time, last_state_change, timeout_duration,
         created_at, updated_at, epoch, opened_in_a_row, id, success_count, window_type, last_failure_time)
        SELECT 'x', 'open', 5, '[${noon - 0.01},1,1,0,${noon - 0.005},1,1,0]', ${noon + 30}, '${isoNoon}', 30,
          '${created}', '${updated}', 3, 1, '${id}', 0, 'rolling', ${noon}`)
    const { snapshot, createdAt, updatedAt } = storedBreaker('service:x')
    const noon = Number(snapshot.lastFailureTime) / 1000
    const isoNoon = new Date(noon * 1000).toISOString()
    const [created, updated] = [createdAt.toISOString(), updatedAt.toISOString()]
    write('service:x')
    const { breakers } = await opened(file, { driver })
    expect(await breakers.load()).toEqual([storedBreaker('service:x')])
    // A process of that release may still be at work on the file.
    await breakers.save([storedBreaker('service:x', 9), storedBreaker('service:y')])
    write('service:x')
    old.close()
    expect(await breakers.load()).toEqual(
      expect.arrayContaining([storedBreaker('service:x'), storedBreaker('service:y')]),
    )
  })
})
