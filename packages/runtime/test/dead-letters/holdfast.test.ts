import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RetryEvent } from '../../../records/src/session.js'
import { Holdfast } from '../../src/holdfast/holdfast.js'
import { eventually } from './setup.js'

let dir: string
let open: Holdfast[]

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-runtime-'))
  open = []
})
afterEach(async () => {
  for (const hf of open) await hf.close()
  await rm(dir, { recursive: true, force: true })
})

const policies = { write: { maxAttempts: 2, backoffType: 'immediate' } }

async function start(config: object, more: object = {}): Promise<Holdfast> {
  const hf = await Holdfast.open({ config: { policies, ...config }, ...more })
  open.push(hf)
  return hf
}

const down = () => Promise.reject(new Error('down'))

describe('a call with a payload', () => {
  it('is on disk as a dead letter before its caller gets the error', async () => {
    const hf = await start({}, { store: `files:${dir}` })
    const call = { itemId: 'mail/1', payload: { title: 'hunter2' }, idempotencyKey: 'k', correlationId: 'c' }
    await expect(hf.run('write', down, call)).rejects.toThrow('down')
    const files = (await readdir(join(dir, 'dlq'), { recursive: true })).filter((name) =>
      name.endsWith('.json'),
    )
    const file = files.find((name) => name.includes('dlq_')) as string
    expect(JSON.parse(await readFile(join(dir, 'dlq', file), 'utf8'))).toMatchObject({
      item_id: 'mail/1',
      operation_type: 'write',
      original_payload: { title: 'hunter2' },
      error_details: { error_type: 'Error', error_message: 'down', retry_count: 1 },
      idempotency_key: 'k',
      correlation_id: 'c',
      policy_id: 'write',
      session_id: expect.stringMatching(/^write_/),
    })
    if (process.platform !== 'win32') expect((await stat(join(dir, 'dlq', file))).mode & 0o777).toBe(0o600)
  })

  it('stores nothing if it succeeds or is aborted', async () => {
    const hf = await start({})
    await hf.run('write', () => 1, { payload: 1 })
    const stop = new AbortController()
    const running = hf.run('write', () => new Promise(() => {}), { payload: 1, signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    expect((await hf.deadLetters.stats()).total).toBe(0)
  })

  it('is pending afterwards if the runtime closes during the call or its replay', async () => {
    const clock = fakeClock()
    const hf = await start({}, { clock, store: `sqlite:${join(dir, 'a.db')}` })
    const { dlqId } = await hf.deadLetters.enqueue({ operation: 'write', itemId: 'old', payload: 1 })
    const call = hf.run('write', () => new Promise(() => {}), { itemId: 'new', payload: 2 })
    const outcomes = [call.catch((error: { code: string }) => error.code)]
    let replaying = false
    hf.deadLetters.handle('write', () => {
      replaying = true
      return new Promise(() => {})
    })
    outcomes.push(hf.deadLetters.replay(dlqId).catch((error: { code: string }) => error.code))
    await eventually(() => expect(replaying).toBe(true))
    let ended = false
    const closed = hf.close().then(() => {
      ended = true
    })
    await eventually(async () => {
      await clock.advance(10_000)
      expect(ended).toBe(true)
    })
    await closed
    expect(await Promise.all(outcomes)).toEqual(['CANCELLED', 'CANCELLED'])
    const again = await start({}, { clock, store: `sqlite:${join(dir, 'a.db')}` })
    const { items } = await again.deadLetters.list()
    expect(items.map(({ itemId, status }) => [itemId, status])).toEqual([
      ['old', 'pending'],
      ['new', 'pending'],
    ])
  })

  it('is rejected by a full queue if the config file says so', async () => {
    const hf = await start({ deadLetters: { maxEntries: 1, whenFull: 'refuse' } })
    await expect(hf.run('write', down, { payload: 1 })).rejects.toThrow('down')
    await expect(hf.run('write', () => 1, { payload: 2 })).rejects.toMatchObject({
      code: 'DEAD_LETTERS_FULL',
    })
    expect(await hf.run('write', () => 1)).toBe(1)
    await hf.deadLetters.purge({})
    expect(await hf.run('write', () => 1, { payload: 2 })).toBe(1)
  })

  it('throws its own error even if it cannot be stored', async () => {
    const hf = await start({ deadLetters: { maxEntries: 1 } })
    const events: RetryEvent[] = []
    hf.events.on('*', (event) => events.push(event))
    await expect(hf.run('write', down, { payload: 1 })).rejects.toThrow('down')
    await expect(hf.run('write', down, { payload: 2 })).rejects.toThrow('down')
    const loop: unknown[] = []
    loop.push(loop)
    await expect(hf.run('write', down, { payload: loop })).rejects.toThrow('down')
    const codes = events
      .filter(({ eventType }) => eventType === 'dead_letter_failed')
      .map(({ context }) => context?.code)
    expect(codes).toEqual(['DEAD_LETTERS_FULL', 'INVALID_OPTIONS'])
  })

  it('is not stored if its policy or the kind of its error excludes it', async () => {
    const hf = await start({
      policies: { write: { maxAttempts: 1, deadLetter: false }, fetch: { maxAttempts: 1 } },
      deadLetters: { skipKinds: ['not_found'] },
    })
    await expect(hf.run('write', down, { payload: 1 })).rejects.toThrow('down')
    const gone = () => Promise.reject(Object.assign(new Error('gone'), { status: 404 }))
    await expect(hf.run('fetch', gone, { payload: 1 })).rejects.toThrow('gone')
    expect((await hf.deadLetters.stats()).total).toBe(0)
  })
})

describe('a config file', () => {
  it('can configure handlers and encryption keys', async () => {
    await writeFile(join(dir, 'handlers.mjs'), 'export const write = ({ to }) => { globalThis.sentTo = to }')
    const file = join(dir, 'holdfast.yaml')
    await writeFile(
      file,
      `version: "1.1.0"
store: files:data
dead_letters: { handlers: ./handlers.mjs, encryption_key: "\${DLQ_KEY}", operations: [write] }
`,
    )
    const env = { DLQ_KEY: Buffer.alloc(32, 5).toString('base64') }
    const hf = await Holdfast.open({ config: file, env, watch: false })
    open.push(hf)
    const { dlqId } = await hf.deadLetters.enqueue({
      operation: 'write',
      itemId: 'a',
      payload: { to: 'ada' },
    })
    const files = await readdir(join(dir, 'data/dlq/write'))
    expect(await readFile(join(dir, 'data/dlq/write', files[0] as string), 'utf8')).not.toContain('ada')
    expect((await hf.deadLetters.replay(dlqId, { by: 'ann' })).status).toBe('completed')
    expect((globalThis as { sentTo?: string }).sentTo).toBe('ada')
    await expect(
      hf.deadLetters.enqueue({ operation: 'other', itemId: 'a', payload: 1 }),
    ).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect((await hf.audit.list()).items).toMatchObject([
      { actor: 'ann', action: 'dead_letter.replay', target: dlqId },
    ])
  })
})

describe('two runtimes on one store', () => {
  it('work together: one requests a replay, the other runs the handler', async () => {
    const store = `sqlite:${join(dir, 'shared.db')}`
    const [server, worker] = [await start({}, { store }), await start({}, { store })]
    await expect(server.run('write', down, { itemId: 'a', payload: { a: 1 } })).rejects.toThrow('down')
    const seen: unknown[] = []
    worker.deadLetters.handle('write', (payload) => void seen.push(payload))
    const stop = new AbortController()
    const work = worker.deadLetters.work({ interval: 5, signal: stop.signal })
    const [entry] = (await server.deadLetters.list()).items
    const requested = await server.deadLetters.replay(entry?.dlqId as string)
    expect(requested.replayRequestedAt).toBeInstanceOf(Date)
    await eventually(async () =>
      expect((await server.deadLetters.get(requested.dlqId))?.status).toBe('completed'),
    )
    expect(seen).toEqual([{ a: 1 }])
    stop.abort()
    await work
  })
})

describe('a replay that waits for the breaker', () => {
  it('follows when an operator closes the breaker, before its open duration has passed', async () => {
    const clock = fakeClock()
    const hf = await Holdfast.open({
      config: {
        policies: { write: { maxAttempts: 1, circuitBreaker: 'notion' } },
        circuitBreakers: { notion: { timeoutDuration: 3_600_000 } },
      },
      clock,
      env: {},
    })
    const seen: unknown[] = []
    hf.deadLetters.handle('write', (payload) => void seen.push(payload))
    const { dlqId } = await hf.deadLetters.enqueue({ operation: 'write', itemId: 'a', payload: 1 })
    await hf.breakers.trip('service:notion', { by: 'ann' })
    expect(await hf.deadLetters.replay(dlqId, { by: 'ann', waitForBreaker: true })).toMatchObject({
      status: 'pending',
      replayRequestedAt: expect.any(Date),
    })
    await clock.advance(5000)
    expect(seen).toEqual([])
    await hf.breakers.reset('service:notion', { by: 'ann' })
    await eventually(async () => {
      await clock.advance(1000)
      expect((await hf.deadLetters.get(dlqId))?.status).toBe('completed')
    })
    expect(seen).toEqual([1])
    await hf.close()
  })

  it('subscribes to replay requests once for all replays that wait, until the runtime closes', async () => {
    const clock = fakeClock()
    const hf = await Holdfast.open({
      config: {
        policies: { write: { maxAttempts: 1, circuitBreaker: 'notion' } },
        circuitBreakers: { notion: { timeoutDuration: 3_600_000 } },
      },
      clock,
      env: {},
    })
    const subscriptions = new Set<() => void>()
    Object.assign(hf.store.deadLetters, {
      onRequest: (listener: () => void) => {
        const subscription = () => listener()
        subscriptions.add(subscription)
        return () => subscriptions.delete(subscription)
      },
    })
    hf.deadLetters.handle('write', () => {})
    for (let round = 0; round < 3; round++) {
      await hf.breakers.trip('service:notion', { by: 'ann' })
      for (const itemId of ['a', 'b']) {
        const { dlqId } = await hf.deadLetters.enqueue({ operation: 'write', itemId, payload: round })
        await hf.deadLetters.replay(dlqId, { by: 'ann', waitForBreaker: true })
      }
      expect(subscriptions.size).toBe(1)
      await hf.breakers.reset('service:notion', { by: 'ann' })
      await clock.advance(5000)
    }
    await hf.close()
    expect(subscriptions.size).toBe(0)
  })
})
