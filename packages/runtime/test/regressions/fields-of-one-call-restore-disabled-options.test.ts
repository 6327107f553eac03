// `timeout: false` and `retry: false` of a guard or fetch were lost when a call gave one field.
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

const CONFIG = {
  policies: {
    p: { maxAttempts: 3, backoffType: 'immediate', totalTimeout: '2s', attemptTimeout: '1s' },
  },
}
const codeOf = (call: Promise<unknown>) => call.catch(({ code }: { code: string }) => code)

/** A function that takes as long as given, and its calls. */
function slow(clock: ReturnType<typeof fakeClock>, duration: number) {
  return () => new Promise<string>((resolve) => void clock.setTimer(() => resolve('done'), duration))
}

describe('timeout: false', () => {
  it('of hf.guard remains for the timeouts that a call does not give', async () => {
    const clock = fakeClock()
    const { hf } = await start(CONFIG, { clock })
    const guard = hf.guard('p', { timeout: false, retry: false })
    const attempt = codeOf(guard.run(slow(clock, 20_000), { timeout: { attempt: 10_000 } }))
    await clock.advance(10_000)
    expect(await attempt).toBe('ATTEMPT_TIMEOUT')
    const total = codeOf(guard.run(slow(clock, 9000), { timeout: { total: 10_000 } }))
    await clock.advance(9000)
    expect(await total).toBe('done')
  })

  it('of hf.createFetch remains for the timeouts that a request does not give', async () => {
    const clock = fakeClock()
    const { hf } = await start(CONFIG, { clock })
    const respond = slow(clock, 9000)
    const fetch = async () => new Response(await respond())
    const send = hf.createFetch('p', { fetch, timeout: false })
    const response = send('http://a.test/', { timeout: { attempt: 10_000 } })
    await clock.advance(9000)
    expect(await (await response).text()).toBe('done')
  })
})

describe('retry: false', () => {
  it('of hf.guard remains for a call that does not give maxAttempts', async () => {
    const { hf } = await start(CONFIG)
    let calls = 0
    const fail = () => {
      calls++
      return Promise.reject(refused())
    }
    const guard = hf.guard('p', { retry: false })
    await guard.run(fail, { retry: { baseDelay: 1 } }).catch(() => {})
    expect(calls).toBe(1)
    await guard.run(fail, { retry: { maxAttempts: 2 } }).catch(() => {})
    expect(calls).toBe(3)
  })

  it('of hf.createFetch remains for a request that does not give maxAttempts', async () => {
    const { hf } = await start(CONFIG)
    let requests = 0
    const fetch = async () => {
      requests++
      return new Response('', { status: 503 })
    }
    const send = hf.createFetch('p', { fetch, retry: false })
    await send('http://a.test/', { retry: { baseDelay: 1 } })
    expect(requests).toBe(1)
  })
})
