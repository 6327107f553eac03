import { userInfo } from 'node:os'
import { Holdfast } from '@holdfast/runtime'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, vi } from 'vitest'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { CONFIG, World } from './world.js'

const open = (world: World): Promise<Holdfast> =>
  Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })

describe('tokens', () => {
  it('are admin for the first one and viewer for others by default; revoking the last admin warns', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    expect((await world.run(['token', 'create', 'ann'])).err).toContain('ann has the role admin')
    expect((await world.run(['token', 'create', 'grafana'])).err).toContain('grafana has the role viewer')
    const revoked = await world.run(['token', 'revoke', 'ann'])
    expect(revoked).toMatchObject({ code: EXIT_CODES.ok, out: 'token ann revoked\n' })
    expect(revoked.err).toContain('ann was the last token with the role admin')
    expect((await world.run(['token', 'revoke', 'grafana'])).err).toBe('')
  })

  it('are created, listed and revoked on the store, and audited', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const made = await world.run(['token', 'create', 'grafana', '--role', 'viewer', '--reason', 'graphs'])
    expect(made.out).toMatch(/^hft_[\w-]{43}\n$/)
    const list = await world.run(['token', 'list', '--json'])
    expect(list.json.items).toMatchObject([{ name: 'grafana', role: 'viewer' }])
    expect(list.out).not.toContain(made.out.trim())
    expect((await world.run(['token', 'create', 'grafana'])).code).toBe(EXIT_CODES.failure)
    expect((await world.run(['token', 'revoke', 'grafana'])).code).toBe(EXIT_CODES.ok)
    expect((await world.run(['token', 'revoke', 'grafana'])).code).toBe(EXIT_CODES.failure)
    const hf = await open(world)
    const { items } = await hf.audit.list()
    await hf.close()
    expect(items.map(({ action, target }) => [action, target])).toEqual([
      ['token.revoke', 'grafana'],
      ['token.create', 'grafana'],
    ])
    expect(items[1]).toMatchObject({ reason: 'graphs', actor: expect.stringMatching(/^command:/) })
  })

  it('are not required for commands on the store', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    await world.run(['token', 'create', 'ann', '--role', 'admin'])
    expect((await world.run(['sessions', '--json'])).json).toEqual({ items: [] })
  })
})

describe('a command on the store', () => {
  it('shows the records of a process and does not change its breakers', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const hf = await open(world)
    await hf.run('save', () => Promise.reject(new Error('down'))).catch(() => {})
    await hf.breakers.trip('service:notion')
    await hf.close()
    expect((await world.run(['sessions', '--json'])).json.items).toMatchObject([{ operation: 'save' }])
    const { json, err } = await world.run(['breakers', '--json'])
    expect(json.items).toMatchObject([{ id: 'service:notion', state: 'open' }])
    expect(err).toBe('')
    const again = await open(world)
    expect((await again.breakers.get('service:notion'))?.state).toBe('open')
    // One that is closed meanwhile stays so, though a command that began before ends after.
    await again.breakers.reset('service:notion')
    await world.run(['sessions'])
    await again.close()
    expect((await world.run(['breakers', '--json'])).json.items).toMatchObject([{ state: 'closed' }])
  })

  it('rolls back and clears changes that a process finds when it starts', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const hf = await open(world)
    await hf.policies.put({ id: 'save', maxAttempts: 7 }, { by: 'ann' })
    await hf.policies.put({ id: 'save', maxAttempts: 9 }, { by: 'ann' })
    await hf.close()
    expect((await world.run(['config', 'rollback', '1', '--reason', 'too many'])).code).toBe(EXIT_CODES.ok)
    const { json } = await world.run(['explain', 'save', '--json'])
    expect(json.policies[0].values.max_attempts.value).toBe(7)
    expect((await world.run(['config', 'clear'])).code).toBe(EXIT_CODES.ok)
    const again = await open(world)
    expect((await again.policies.get('save')).maxAttempts).toBe(2)
    await again.close()
  })

  it('takes effect in a running process and is audited with the current user', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const clock = fakeClock()
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false, clock })
    await hf.policies.put({ id: 'save', maxAttempts: 7 }, { by: 'ann' })
    expect((await world.run(['config', 'rollback', '0'])).out).toContain('within a second')
    await world.run(['token', 'create', 'ann'])
    await vi.waitFor(
      async () => {
        await clock.advance(1000)
        expect((await hf.policies.get('save')).maxAttempts).toBe(2)
      },
      { timeout: 60_000 },
    )
    const { items } = await hf.audit.list({ order: 'oldest' })
    const by = `command:${userInfo().username}`
    expect(items.map(({ action, actor }) => [action, actor])).toEqual([
      ['policy.put', 'ann'],
      ['config.rollback', by],
      ['token.create', by],
    ])
    expect((await hf.config.history())[0]).toMatchObject({ version: 2, by })
    await hf.close()
  })

  it('that sends a request to a private target explains how to allow it', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const { code, err } = await world.run(['request', 'http://127.0.0.1:1/'])
    expect(code).toBe(EXIT_CODES.failure)
    expect(err).toContain('allow_private_targets: true')
    expect(err).not.toContain('token')
  })
})
