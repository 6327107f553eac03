// Calls of the runtime ran in the async context of other callers, and background work in that of the first.
import { AsyncLocalStorage } from 'node:async_hooks'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tickingClock } from '../../../core/test/ticking-clock.js'
import type { OpenOptions } from '../../src/api-types.js'
import { Outbox } from '../../src/events/outbox.js'
import { Holdfast } from '../../src/holdfast/holdfast.js'

const caller = new AsyncLocalStorage<string>()
const never = () => new Promise<never>(() => {})
const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNRESET' }))

async function open(options: OpenOptions): Promise<Holdfast> {
  const hf = await Holdfast.open({ store: 'memory', env: {}, ...options })
  onTestFinished(() => hf.close())
  return hf
}

const policy = (fields: object) => ({ policies: { default: { maxAttempts: 2, baseDelay: 100, ...fields } } })

describe('the async context of a call of the runtime', () => {
  it('is kept by hf.run during the delay before a retry, after an attempt timeout and in listeners', async () => {
    const { clock, tick } = tickingClock(caller)
    const seen: string[] = []
    const see = (what: string) => void seen.push(`${what} ${caller.getStore()}`)
    const hf = await open({ clock, config: policy({ attemptTimeout: 1000 }) })
    hf.guard('mail.send').on(({ type }) => see(type))
    hf.events.on('*', ({ eventType }) => see(eventType))
    const one = (name: string) =>
      caller.run(name, () =>
        hf.run('mail.send', ({ number }) => {
          see(`attempt ${number}`)
          return number === 1 ? never() : 'ok'
        }),
      )
    const calls = ['a', 'b'].map(one)
    await tick(1100)
    expect(await Promise.all(calls)).toEqual(['ok', 'ok'])
    const of = (name: string) =>
      seen.filter((line) => line.endsWith(` ${name}`)).map((line) => line.slice(0, -2))
    expect(of('a')).toEqual(of('b'))
    expect(of('a').length + of('b').length).toBe(seen.length)
    expect(of('a')).toEqual(
      expect.arrayContaining(['attempt 1', 'attempt_failed', 'retry_scheduled', 'attempt 2', 'succeeded']),
    )
  })

  it('is kept in the queue of a bulkhead', async () => {
    const hf = await open({ config: policy({ bulkhead: { limit: 1, queue: 5 } }) })
    const seen: unknown[] = []
    await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        caller.run(name, () => hf.run('mail.send', async () => void seen.push(caller.getStore()))),
      ),
    )
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('is kept by a guard of an operation', async () => {
    const { clock, tick } = tickingClock(caller)
    const hf = await open({ clock, config: policy({}) })
    const mail = hf.guard('mail.send')
    const seen: unknown[] = []
    const calls = ['a', 'b'].map((name) =>
      caller.run(name, () =>
        mail.run(({ number }) => {
          seen.push(caller.getStore())
          return number === 1 ? down() : 'ok'
        }),
      ),
    )
    await tick(100)
    await Promise.all(calls)
    expect(seen).toEqual(['a', 'b', 'a', 'b'])
  })

  it('is used when an operator cancels the call', async () => {
    const { clock, tick } = tickingClock(caller)
    const hf = await open({ clock, config: policy({}) })
    const heard: string[] = []
    hf.guard('mail.send').on(({ type }) => heard.push(`${type} ${caller.getStore()}`))
    const call = caller.run('a', () => hf.run('mail.send', down).catch(() => {}))
    await tick(0)
    const [session] = (await hf.sessions.list({ active: true })).items
    await caller.run('operator', () => hf.sessions.cancel(session?.sessionId as string, { by: 'ops' }))
    await call
    expect(heard).toEqual(['attempt_failed a', 'retry_scheduled a', 'gave_up a'])
  })

  it.each([
    ['of an operation without deadlines', policy({})],
    ['of an operation with a deadline', policy({ totalTimeout: 60_000 })],
    ['of a disabled operation', policy({ enabled: false })],
  ])('is used by the abort listeners of a first attempt, %s, when the runtime closes', async (_, config) => {
    const { clock, tick } = tickingClock(caller)
    const hf = await open({ clock, config })
    const seen: string[] = []
    const see = (what: string) => void seen.push(`${what} ${caller.getStore()}`)
    const call = caller.run('a', async () => {
      const fn = ({ signal }: { signal: AbortSignal }) => {
        signal.addEventListener('abort', () => see('listener'))
        return never()
      }
      await hf.run('mail.send', fn).catch(() => see('caller'))
      see('continuation')
    })
    const closed = caller.run('operator', () => hf.close())
    while (seen.length === 0) await tick(10_000)
    await Promise.all([call, closed])
    expect(seen).toEqual(['listener a', 'caller a', 'continuation a'])
  })

  it('is used by event listeners when a first attempt with a deadline is cancelled', async () => {
    const { clock, tick } = tickingClock(caller)
    const hf = await open({ clock, config: policy({ totalTimeout: 60_000 }) })
    const call = caller.run('a', () => hf.run('mail.send', never).catch(() => {}))
    const heard: unknown[] = []
    hf.guard('mail.send').on(({ type }) => heard.push(`${type} ${caller.getStore()}`))
    const closed = caller.run('operator', () => hf.close())
    while (heard.length === 0) await tick(10_000)
    await Promise.all([call, closed])
    expect(heard).toEqual(['gave_up a'])
  })

  it('is used by a slow listener that gets events later', async () => {
    const hf = await open({ config: policy({ baseDelay: 0 }) })
    const heard: unknown[] = []
    let go = () => {}
    const slow = new Promise<void>((resolve) => {
      go = resolve
    })
    const all = new Promise<void>((resolve) => {
      hf.events.on('retry_attempt', async () => {
        heard.push(caller.getStore())
        if (heard.length === 3) resolve()
        await slow
      })
    })
    for (const name of ['a', 'b', 'c'])
      await caller.run(name, () => hf.run('mail.send', down).catch(() => {}))
    expect(heard).toEqual(['a'])
    go()
    await all
    expect(heard).toEqual(['a', 'b', 'c'])
  })
})

describe('the background work of a runtime', () => {
  it('runs outside of the async context of the first call', async () => {
    const { clock, setIn, tick } = tickingClock(caller)
    const hf = await caller.run('opener', () => open({ clock, config: policy({ attemptTimeout: 1000 }) }))
    expect(setIn.filter((name) => name !== undefined)).toEqual([])
    const call = caller.run('a', () => hf.run('mail.send', down).catch(() => {}))
    await tick(100)
    await call
    await tick(1000)
    // The one timer that belongs to the call is the wait before its second attempt.
    expect(setIn.filter((name) => name !== undefined)).toEqual(['a'])
  })

  it('writes records outside of the async context of the call that filled the batch', async () => {
    const written: unknown[] = []
    const outbox = new Outbox<number>({
      clock: fakeClock(),
      capacity: 10_000,
      writeBatch: async () => void written.push(caller.getStore()),
      onDropped() {},
      onFailed() {},
    })
    caller.run('a', () => {
      for (let i = 0; i < 500; i++) outbox.add(i)
    })
    await outbox.flush()
    expect(written).toEqual([undefined])
  })
})
