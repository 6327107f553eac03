import { guard } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { folder, refused, start } from './setup.js'

const FILE = `version: "1.2.0"
store: memory
policies:
  outer: { max_attempts: 3, backoff_type: immediate, nested: stop }
  again: { max_attempts: 3, backoff_type: immediate }
  small: { max_attempts: 1, bulkhead: { limit: 1, queue: 5, max_wait: 0.5 } }
`

const startFile = async (text = FILE) => start(`${await folder({ 'holdfast.yaml': text })}/holdfast.yaml`)

describe('the key nested of a policy', () => {
  it('stops the retries of an error that a guard inside the call has retried', async () => {
    const { hf, clock } = await startFile()
    const inner = guard({ clock, retry: { maxAttempts: 2, backoffType: 'immediate' } })
    let calls = 0
    const fail = () =>
      inner.run(() => {
        calls++
        throw refused()
      })

    await hf.run('outer', fail).catch(() => {})
    expect(calls).toBe(2)
    expect((await hf.sessions.list()).items).toMatchObject([{ stopped: 'nested', totalAttempts: 1 }])
    calls = 0
    await hf.run('again', fail).catch(() => {})
    expect(calls).toBe(6)
  })

  it('is retry or stop, and explain shows its origin', async () => {
    const { hf } = await startFile()
    const { policies } = await hf.config.explain('outer')
    expect(policies.at(-1)?.values.nested).toMatchObject({ value: 'stop' })
    await expect(startFile(FILE.replace('nested: stop', 'nested: never'))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('nested'),
    })
  })
})

describe('the key max_wait of a bulkhead', () => {
  it('rejects a call that has waited that long in the queue', async () => {
    const { hf, clock } = await startFile()
    let release = () => {}
    const running = hf.run(
      'small',
      () =>
        new Promise<void>((resolve) => {
          release = resolve
        }),
    )
    const waiting = hf.run('small', () => 'done').catch((error: { code: string }) => error.code)
    await clock.advance(499)
    const late = hf.run('small', () => 'done')
    await clock.advance(1)
    expect(await waiting).toBe('BULKHEAD_FULL')
    release()
    await running
    expect(await late).toBe('done')
  })
})
