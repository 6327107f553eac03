import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { GRANT_PROBE, OPEN, SETTLE_PROBE } from '../src/lua/scripts.js'
import { missing, RealRedis } from './redis.js'

let server: RealRedis
let redis: Redis

/** The state of the breaker after a script. */
interface View {
  readonly state: string
  readonly epoch: number
  readonly token?: string
  readonly gone?: boolean
}

async function run({ text }: { text: string }, ...args: (string | number)[]): Promise<View> {
  const reply = await redis.eval(text, 3, 'state', 'round', 'counts', 'node', 'service:api', 0, ...args)
  return JSON.parse(reply as string) as View
}

const grant = async (maxProbes: number): Promise<string> => {
  const { token } = await run(GRANT_PROBE, maxProbes, 60_000, 0, 1000)
  return token ?? 'no permit'
}
const settle = (token: string, outcome: 'success' | 'failure' | '') =>
  run(SETTLE_PROBE, token, outcome, 1, 60_000, 2, 1)

describe.skipIf(missing !== undefined)('the permits of probes in Redis', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
    redis = new Redis(server.url)
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.kill()
  })
  beforeEach(async () => {
    await redis.flushall()
    await run(OPEN, 0, 1, 2)
  })

  it('end when one probe opens the breaker again: a later success of another one does not close it', async () => {
    const [failing, late] = [await grant(2), await grant(2)]
    expect(await settle(failing, 'failure')).toMatchObject({ state: 'open' })
    expect(await settle(late, 'success')).toMatchObject({ gone: true, state: 'open' })
  })

  it('end when one probe closes the breaker: a later failure of another one does not open it', async () => {
    const [first, late] = [await grant(2), await grant(2)]
    expect(await settle(first, 'success')).toMatchObject({ state: 'closed' })
    expect(await settle(late, 'failure')).toMatchObject({ gone: true, state: 'closed' })
  })

  it('are at most the given number in an epoch, and never repeat a token', async () => {
    const first = await grant(1)
    expect(await grant(1)).toBe('no permit')
    const { epoch } = await settle(first, '')
    const second = await grant(1)
    const epochOf = (token: string) => Number(token.split(':')[0])
    expect(epochOf(first)).toBe(epoch)
    expect(epochOf(second)).toBeGreaterThan(epoch)
  })
})
