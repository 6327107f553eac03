import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { type ClosableApp, createApp } from '../../src/app/app.js'
import { asking } from '../fixture.js'

const PATH = '/api/v1/pools/proxies/members'

/** A server over a store that outlives it. */
async function openServer() {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-members-'))
  let hf: Holdfast
  let app: ClosableApp
  const close = async () => {
    await app.close()
    await hf.close()
  }
  const start = async () => {
    const members = ['a', 'b'].map((id, i) => ({ id, url: `http://127.0.0.1:${9001 + i}` }))
    const config = {
      version: '1.1.0',
      store: `sqlite:${join(dir, 'hf.db')}`,
      pools: { proxies: { members } },
    }
    hf = await Holdfast.open({ config, env: {}, watch: false })
    app = createApp(hf, { dashboard: false })
  }
  await start()
  onTestFinished(async () => {
    await close()
    rmSync(dir, { recursive: true, force: true })
  })
  return {
    ask: (...args: Parameters<ReturnType<typeof asking>>) => asking(app)(...args),
    pool: () => hf.pools.get('proxies'),
    metrics: async () => (await asking(app)('GET', '/metrics')).body as string,
    async restart() {
      await close()
      await start()
    },
  }
}

test('a member that is disabled and one that is draining are told apart, also after a restart', async () => {
  const { ask, restart, pool, metrics } = await openServer()
  const standing = async () =>
    (await ask('GET', PATH)).body.items.map(
      ({ status, enabled, draining }: { status: string; enabled: boolean; draining: boolean }) => [
        status,
        enabled,
        draining,
      ],
    )
  expect(await standing()).toEqual([
    ['available', true, false],
    ['available', true, false],
  ])
  expect((await ask('PATCH', `${PATH}/a`, { body: { enabled: false } })).body.status).toBe('disabled')
  expect((await ask('PATCH', `${PATH}/b`, { body: { draining: true } })).body.status).toBe('drained')
  const apart = [
    ['disabled', false, false],
    ['drained', true, true],
  ]
  expect(await standing()).toEqual(apart)
  await restart()
  expect(await standing()).toEqual(apart)
  expect((await ask('GET', '/api/v1/pools')).body.items[0].by_status).toEqual({ disabled: 1, drained: 1 })
  expect(await metrics()).toMatch(/holdfast_pool_members\{pool="proxies",status="disabled"\} 1/)
  expect(pool().pick()).toBeUndefined()

  // The end of draining does not enable what was disabled.
  for (const id of ['a', 'b']) await ask('PATCH', `${PATH}/${id}`, { body: { draining: false } })
  expect(await standing()).toEqual([
    ['disabled', false, false],
    ['available', true, false],
  ])
  await ask('PATCH', `${PATH}/a`, { body: { draining: true } })
  await ask('PATCH', `${PATH}/b`, { body: { draining: true, enabled: false } })
  expect(await standing()).toEqual([
    ['drained', true, true],
    ['disabled', false, false],
  ])
  for (const id of ['a', 'b']) await ask('PATCH', `${PATH}/${id}`, { body: { enabled: true } })
  expect(await standing()).toEqual([
    ['available', true, false],
    ['available', true, false],
  ])
  await restart()
  expect(await standing()).toEqual([
    ['available', true, false],
    ['available', true, false],
  ])
})

test('a member that was added in code is told apart as well', async () => {
  const { ask, pool } = await openServer()
  pool().add({ id: 'own', value: {} })
  expect((await ask('PATCH', `${PATH}/own`, { body: { enabled: false } })).body.status).toBe('disabled')
  expect((await ask('PATCH', `${PATH}/own`, { body: { draining: true } })).body.status).toBe('drained')
  expect((await ask('PATCH', `${PATH}/own`, { body: { draining: false } })).body.status).toBe('available')
})
