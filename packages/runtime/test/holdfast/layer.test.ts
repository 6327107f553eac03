import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import type { FileWatcher } from '../../../config/src/file/watch.js'
import { folder, start } from './setup.js'

const FILE = 'version: "1.1.0"\nstore: sqlite:holdfast.db\npolicies: { default: { max_attempts: 4 } }\n'

/** The store is a real one, and takes its time. */
const soon = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000 })

/** Two processes, as far as they can know, on one store. */
async function two() {
  const dir = await folder({ 'holdfast.yaml': FILE })
  const config = join(dir, 'holdfast.yaml')
  const server = await start(config, { watch: false })
  const command = await start(config, { watch: false })
  return { config, server, command }
}

const attempts = async ({ hf }: Awaited<ReturnType<typeof start>>) =>
  (await hf.policies.get('default')).maxAttempts

it('a live change of another process is applied within a second, and reported', async () => {
  const { server, command } = await two()
  await server.hf.policies.put({ id: 'default', maxAttempts: 9 })
  await command.hf.config.rollback(0, { by: 'ann' })
  expect(await attempts(server)).toBe(9)
  await server.clock.advance(1000)
  await soon(async () => expect(await attempts(server)).toBe(4))
  await soon(() =>
    expect(server.events.map(({ eventType, context }) => [eventType, context?.by, context?.version])).toEqual(
      [
        ['config_reloaded', 'unknown', undefined],
        ['config_reloaded', 'ann', 2],
      ],
    ),
  )
  await command.hf.policies.put({ id: 'default', maxAttempts: 6 })
  await soon(async () => {
    await server.clock.advance(1000)
    expect(await attempts(server)).toBe(6)
  })
})

it('a policy has the time of its last change', async () => {
  const { config, server, command } = await two()
  const { hf, clock } = server
  const at = (hours: number) => new Date(Date.UTC(2026, 0, 29, hours))
  const next = () => clock.stepWall(3_600_000)
  expect(await hf.config.changedAt('default')).toEqual(at(12))
  await expect(hf.config.changedAt('unknown')).rejects.toMatchObject({ code: 'POLICY_NOT_FOUND' })
  next()
  await hf.policies.put({ id: 'default', maxAttempts: 9 })
  expect(await hf.config.changedAt('default')).toEqual(at(13))
  next()
  await hf.policies.put({ id: 'other', maxAttempts: 9 })
  await writeFile(config, FILE.replace('max_attempts: 4', 'max_attempts: 5'))
  await hf.config.reload()
  expect(await hf.config.changedAt('default')).toEqual(at(13))
  next()
  await hf.config.clear()
  expect(await hf.config.changedAt('default')).toEqual(at(15))
  next()
  await writeFile(config, FILE)
  await hf.config.reload()
  expect(await hf.config.changedAt('default')).toEqual(at(16))
  next()
  await hf.config.rollback(1)
  expect(await hf.config.changedAt('default')).toEqual(at(17))
  // One that begins now knows it from the store.
  command.clock.stepWall(9 * 3_600_000)
  const later = await start(config, { watch: false, clock: command.clock })
  expect(await later.hf.config.changedAt('default')).toEqual(at(17))
})

it.each([
  ['broken', 'max_attempts: 0', 'config.reject'],
  ['good', 'max_attempts: 5', 'config.reload'],
])('a %s file that is saved and reloaded by hand is audited once', async (_, said, action) => {
  const dir = await folder({ 'holdfast.yaml': FILE })
  const config = join(dir, 'holdfast.yaml')
  const { hf } = await start(config)
  const watch = Reflect.get(Reflect.get(hf.config, 'fileReload'), 'watcher') as FileWatcher
  await writeFile(config, FILE.replace('max_attempts: 4', said))
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await hf.config.reload({ by: 'ann' }).catch(() => {})
  await watch.check()
  await writeFile(config, FILE.replace('max_attempts: 4', 'max_attempts: 6'))
  await watch.check()
  const { items } = await hf.audit.list({ order: 'oldest' })
  expect(items.map((item) => [item.action, item.actor])).toEqual([
    [action, 'ann'],
    ['config.reload', 'file'],
  ])
  vi.restoreAllMocks()
})

it('live changes that cannot be applied leave the active configuration, and are reported once', async () => {
  const { server, command } = await two()
  await server.hf.policies.put({ id: 'default', maxAttempts: 9 })
  const stderr = vi.spyOn(console, 'error').mockImplementation(() => {})
  const broken = { policies: { default: { max_attempts: 'many' } } }
  await command.hf.store.layers.append({ version: 2, by: 'x', at: new Date(0), layer: broken }, 1)
  const told = () => stderr.mock.calls.filter(([text]) => String(text).includes('another process')).length
  await server.clock.advance(1000)
  await soon(() => expect(told()).toBe(1))
  expect(await attempts(server)).toBe(9)
  await command.hf.config.clear()
  await soon(async () => {
    await server.clock.advance(1000)
    expect(await attempts(server)).toBe(4)
  })
  expect(told()).toBe(1)
  stderr.mockRestore()
})
