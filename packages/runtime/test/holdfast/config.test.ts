import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { failing, folder, refused, start, timeout } from './setup.js'

const FILE = `version: "1.1.0"
policies:
  fetch: { max_attempts: 2, backoff_type: fixed, base_delay: 1 }
circuit_breakers:
  api: { failure_threshold: 3, window_type: consecutive, timeout_duration: 60 }
store: memory
`

const calm = () => vi.spyOn(console, 'error').mockImplementation(() => {})

describe('the config file', () => {
  it('is read when the runtime opens, and all its problems are reported together', async () => {
    const dir = await folder({
      'holdfast.yaml': FILE.replace('max_attempts', 'max_atempts').replace('fixed', 'fixt'),
    })
    const error = await start(join(dir, 'holdfast.yaml')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    expect((error as { details: string[] }).details).toEqual([
      expect.stringMatching(/holdfast\.yaml:3:12 .*max_atempts.*did you mean max_attempts\?/),
      expect.stringMatching(
        /holdfast\.yaml:3:42 policies\.fetch\.backoff_type: expected one of .*, got "fixt"/,
      ),
    ])
    await expect(start(join(dir, 'none.yaml'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('is replaced by the built-in policies if it cannot be loaded and the option allows it', async () => {
    const said = calm()
    const dir = await folder({ 'holdfast.yaml': 'version: 7' })
    const { hf } = await start(join(dir, 'holdfast.yaml'), { fallback: true, store: 'memory' })
    expect(await hf.health()).toMatchObject({ status: 'degraded' })
    expect((await hf.policies.list()).map(({ id }) => id)).toContain('aggressive_retry')
    expect(said.mock.calls.flat().join('\n')).toMatch(/could not be loaded/)
    expect((await hf.events.list()).items).toMatchObject([{ eventType: 'config_rejected' }])
    said.mockRestore()
  })

  it('is reloaded on demand as a whole, and running calls finish under their old policy', async () => {
    const dir = await folder({ 'holdfast.yaml': FILE })
    const path = join(dir, 'holdfast.yaml')
    const { hf, clock, events } = await start(path, { watch: false })
    const old = failing(hf, 'fetch', refused)
    await clock.advance(1)
    await writeFile(path, FILE.replace('max_attempts: 2', 'max_attempts: 4'))
    await hf.config.reload({ by: 'ann' })
    const fresh = failing(hf, 'fetch', refused)
    await clock.advance(10_000)
    await Promise.all([old, fresh])
    const { items } = await hf.sessions.list({ order: 'oldest' })
    expect(items.map(({ totalAttempts }) => totalAttempts)).toEqual([2, 4])
    expect(events.filter(({ component }) => component === 'config')).toMatchObject([
      { eventType: 'config_reloaded', context: { by: 'ann', changes: 1 } },
    ])
    const changes = [{ policy_id: 'fetch', field: 'max_attempts', before: 2, after: 4 }]
    expect((await hf.audit.list()).items).toMatchObject([
      { action: 'config.reload', actor: 'ann', after: { changes } },
    ])
  })

  it('can name another store in a reload, which warns that records stay in the old one', async () => {
    const said = calm()
    const dir = await folder({ 'holdfast.yaml': FILE })
    const path = join(dir, 'holdfast.yaml')
    const { hf, events } = await start(path, { watch: false })
    const other = FILE.replace('store: memory', 'store: postgres://me:hunter2@db/x')
    await writeFile(path, other)
    const reloaded = await hf.config.reload({ by: 'ann' })
    const message = '"postgres://***@db/x" takes effect after a restart; until then records stay in "memory"'
    expect(reloaded).toEqual({ changes: 0, hidden: [], warnings: [{ path: 'store', message }] })
    expect(hf.config.warnings).toEqual(reloaded.warnings)
    expect(events.at(-1)).toMatchObject({ eventType: 'config_reloaded', context: { waiting: ['store'] } })
    expect(said.mock.calls.flat()).toEqual([`holdfast: store: ${message.replace('***', '[redacted]')}`])
    // It holds for every later reload, until the file says what is in force again.
    await writeFile(path, other.replace('max_attempts: 2', 'max_attempts: 3'))
    expect((await hf.config.reload()).warnings).toHaveLength(1)
    await writeFile(path, FILE)
    expect((await hf.config.reload()).warnings).toEqual([])
    expect(JSON.stringify(events)).not.toContain('hunter2')
    said.mockRestore()
  })

  it.each([
    ['server', 'server: { port: 9000 }'],
    [
      'proxy',
      'proxy: { pool: out, port: 9001 }\npools: { out: { members: [{ id: a, url: "http://127.0.0.1:1" }] } }',
    ],
  ])('warns that a change of the section %s takes effect after a restart', async (path, section) => {
    const said = calm()
    const dir = await folder({ 'holdfast.yaml': FILE })
    const file = join(dir, 'holdfast.yaml')
    const { hf } = await start(file, { watch: false })
    await writeFile(file, `${FILE}${section}\n`)
    const { warnings } = await hf.config.reload()
    expect(warnings).toEqual([{ path, message: 'the change takes effect after a restart' }])
    said.mockRestore()
  })

  it('is rejected as a whole if it is not valid: the old one stays active, and an event and an audit record have the reason', async () => {
    const said = calm()
    const dir = await folder({ 'holdfast.yaml': FILE })
    const path = join(dir, 'holdfast.yaml')
    const { hf, events } = await start(path, { watch: false })
    await writeFile(path, `${FILE}polices: {}\n`)
    await expect(hf.config.reload({ by: 'ann' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(hf.config.current.policies?.fetch).toMatchObject({ maxAttempts: 2 })
    expect(events).toMatchObject([{ eventType: 'config_rejected', component: 'config' }])
    expect((await hf.audit.list()).items).toMatchObject([{ action: 'config.reject', actor: 'ann' }])
    said.mockRestore()
  })

  it('changes thresholds of a breaker without changing its state', async () => {
    const dir = await folder({ 'holdfast.yaml': FILE })
    const path = join(dir, 'holdfast.yaml')
    const { hf } = await start(path, { watch: false })
    const fail = () => failing(hf, 'fetch', timeout, { service: 'api', policy: { maxAttempts: 1 } })
    await fail()
    await fail()
    await writeFile(path, FILE.replace('failure_threshold: 3', 'failure_threshold: 9'))
    await hf.config.reload()
    expect(await hf.breakers.get('service:api')).toMatchObject({ failureCount: 2, failureThreshold: 9 })
    await writeFile(path, FILE)
    await hf.config.reload()
    await fail()
    expect(await hf.breakers.get('service:api')).toMatchObject({ state: 'open' })
    await writeFile(path, FILE.replace('failure_threshold: 3', 'failure_threshold: 5'))
    await hf.config.reload()
    expect(await fail()).toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('is reloaded when it changes', async () => {
    const dir = await folder({ 'holdfast.yaml': FILE })
    const path = join(dir, 'holdfast.yaml')
    const { systemClock } = await import('holdfast/internal')
    const { hf } = await start(path, { clock: systemClock })
    const reloaded = new Promise((resolve) => hf.events.on('config_reloaded', resolve))
    await writeFile(path, FILE.replace('max_attempts: 2', 'max_attempts: 7'))
    await reloaded
    expect(await hf.policies.get('fetch')).toMatchObject({ maxAttempts: 7 })
  })
})

describe('changes through the API', () => {
  it('apply at once, appear in explain, and survive a restart', async () => {
    const dir = await folder({ 'holdfast.yaml': FILE })
    const config = join(dir, 'holdfast.yaml')
    const store = `sqlite:${join(dir, 'h.db')}`
    const first = await start(config, { store, watch: false })
    await first.hf.policies.put({ id: 'fetch', maxAttempts: 6 }, { by: 'ann', reason: 'storm' })
    await first.hf.policies.put({ id: 'fresh', name: 'Fresh', baseDelay: 50 }, { by: 'bob' })
    await first.hf.close()
    const { hf } = await start(config, { store, watch: false })
    expect(await hf.policies.get('fetch')).toMatchObject({ maxAttempts: 6, backoffType: 'fixed' })
    const { policies } = await hf.config.explain('fetch')
    expect(policies[0]?.values.maxAttempts).toMatchObject({ value: 6, origin: 'api' })
    expect(policies[0]?.values.backoffType).toMatchObject({
      origin: 'policy',
      where: expect.stringMatching(/holdfast\.yaml:3:\d+$/),
    })
    expect((await hf.config.history()).map(({ version, by, reason }) => [version, by, reason])).toEqual([
      [2, 'bob', undefined],
      [1, 'ann', 'storm'],
    ])
    await hf.config.rollback(1, { by: 'ann' })
    await expect(hf.policies.get('fresh')).rejects.toMatchObject({ code: 'POLICY_NOT_FOUND' })
    await hf.config.clear({ by: 'ann' })
    expect(await hf.policies.get('fetch')).toMatchObject({ maxAttempts: 2 })
    expect((await hf.audit.list()).items.map(({ action }) => action)).toEqual([
      'config.clear',
      'config.rollback',
      'policy.put',
      'policy.put',
    ])
  })

  it('are rejected if they are not valid, or if a policy to delete is in use', async () => {
    const { hf } = await start({
      policies: { used: { maxAttempts: 2 } },
      subsystemMappings: { a: { b: { default: 'used' } } },
    })
    await expect(hf.policies.put({ id: 'x', maxAttempts: 0 })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
    await expect(hf.policies.delete('used')).rejects.toMatchObject({ code: 'POLICY_IN_USE' })
    await expect(hf.policies.delete('unknown')).rejects.toMatchObject({ code: 'POLICY_NOT_FOUND' })
    await hf.policies.put({ id: 'x', maxAttempts: 4 })
    await hf.policies.delete('x')
    await expect(hf.policies.get('x')).rejects.toMatchObject({ code: 'POLICY_NOT_FOUND' })
  })
})

describe('an operation', () => {
  it('with three parts uses its mapping, and one without a dot the policy of its name', async () => {
    const { hf, clock } = await start({
      policies: {
        twice: { maxAttempts: 2, backoffType: 'immediate' },
        thrice: { maxAttempts: 3, backoffType: 'immediate' },
        default: { maxAttempts: 4, backoffType: 'immediate' },
      },
      subsystemMappings: { nav: { route: { retry_with_delay: 'twice', default: 'thrice' } } },
    })
    const attempts = async (operation: string) => {
      let calls = 0
      const call = failing(hf, operation, () => {
        calls++
        return timeout()
      })
      await clock.advance(1)
      await call
      return calls
    }
    expect(await attempts('nav.route.retry_with_delay')).toBe(2)
    expect(await attempts('nav.route')).toBe(3)
    expect(await attempts('nav.unknown')).toBe(4)
    expect(await attempts('thrice')).toBe(3)
    expect(await attempts('other')).toBe(4)
  })

  it('uses the error kinds that the config file adds', async () => {
    class SensorError extends Error {
      override name = 'SensorError'
    }
    const { hf } = await start({
      policies: { flaky: { maxAttempts: 5, backoffType: 'immediate' }, default: { maxAttempts: 1 } },
      subsystems: { telemetry: { errorKinds: { flaky: ['SensorError'] } } },
      subsystemMappings: { telemetry: { read: { flaky: 'flaky' } } },
    })
    await failing(hf, 'telemetry.read', () => new SensorError('noise'))
    const [session] = (await hf.sessions.list()).items
    expect(session).toMatchObject({ policyId: 'flaky', totalAttempts: 5 })
    const window = await hf.metrics.window({ from: new Date(0), to: new Date(Date.UTC(2027, 0)) })
    expect(window.failureByReason).toEqual({ flaky: 5 })
  })

  it('under a policy in shadow mode behaves as without it, and is reported', async () => {
    const { hf, events } = await start({
      policies: {
        fetch: {
          maxAttempts: 5,
          backoffType: 'fixed',
          baseDelay: 500,
          shadow: true,
          enableCircuitBreaker: true,
        },
      },
    })
    expect(await failing(hf, 'fetch', timeout)).toMatchObject({ message: 'took too long' })
    expect(events[0]).toMatchObject({
      eventType: 'retry_attempt',
      attempt: 2,
      maxAttempts: 5,
      delay: 500,
      context: { shadow: true },
    })
    const [session] = (await hf.sessions.list()).items
    expect(session?.totalAttempts).toBe(1)
  })
})

describe('members of pools', () => {
  const POOLS = `version: "1.1.0"
store: memory
policies: { once: { max_attempts: 1 } }
pools:
  proxies:
    policy: once
    circuit_breaker: { failure_threshold: 2, timeout_duration: 60 }
    members: [{ id: own, url: "http://127.0.0.1:9000" }]
    members_file: proxies.txt
`
  const ids = (hf: Awaited<ReturnType<typeof start>>['hf']) =>
    hf.pools
      .get('proxies')
      .members()
      .map(({ id }) => id)
      .sort()

  it('come from the config file and a members file, and keep their state over a reload', async () => {
    const dir = await folder({
      'holdfast.yaml': POOLS,
      'proxies.txt': 'http://u:secret@127.0.0.1:9001\nsocks5://127.0.0.1:9002 region=eu\n',
    })
    const { hf } = await start(join(dir, 'holdfast.yaml'), { watch: false })
    expect(ids(hf)).toEqual(['127.0.0.1:9001', '127.0.0.1:9002', 'own'])
    const pool = hf.pools.get('proxies')
    pool.breaker('own').trip()
    await writeFile(join(dir, 'proxies.txt'), '127.0.0.1:9002 region=us\n127.0.0.1:9003\n')
    await writeFile(join(dir, 'holdfast.yaml'), POOLS.replace('failure_threshold: 2', 'failure_threshold: 4'))
    await hf.config.reload()
    expect(ids(hf)).toEqual(['127.0.0.1:9002', '127.0.0.1:9003', 'own'])
    expect(hf.pools.get('proxies')).toBe(pool)
    expect(await hf.breakers.list({ state: 'open' })).toMatchObject([
      { id: 'pool:proxies:own', failureThreshold: 4 },
    ])
    await writeFile(
      join(dir, 'holdfast.yaml'),
      POOLS.replace('policy: once', 'policy: once\n    strategy: score'),
    )
    await hf.config.reload()
    expect(hf.pools.get('proxies')).toBe(pool)
    expect((await hf.breakers.list({ state: 'open' })).map(({ id }) => id)).toEqual(['pool:proxies:own'])
  })

  it('that cannot be parsed reject the configuration, with the position and without the text', async () => {
    const dir = await folder({ 'holdfast.yaml': POOLS, 'proxies.txt': 'ftp://u:secret@127.0.0.1:9001\n' })
    const error = await start(join(dir, 'holdfast.yaml')).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(String(error)).toMatch(/pools\.proxies\.members_file.*line 1/s)
    expect(String(error)).not.toContain('secret')
  })

  it('are reloaded when their file changes', async () => {
    const { systemClock } = await import('holdfast/internal')
    const dir = await folder({ 'holdfast.yaml': POOLS, 'proxies.txt': '127.0.0.1:9001\n' })
    const { hf } = await start(join(dir, 'holdfast.yaml'), { clock: systemClock })
    await writeFile(join(dir, 'proxies.txt'), '127.0.0.1:9001\n127.0.0.1:9005\n')
    await expect.poll(() => ids(hf)).toContain('127.0.0.1:9005')
  })
})
