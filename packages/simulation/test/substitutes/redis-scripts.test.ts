import { describe, expect, it } from 'vitest'
import * as scripts from '../../../fleet/src/lua/scripts.js'
import { SCRIPT_FUNCTIONS } from '../../src/substitutes/redis/scripts/index.js'
import { createSimulatedRedis } from '../../src/substitutes/redis/server.js'

const fleetScripts = Object.entries(scripts).filter(
  (entry): entry is [string, scripts.RedisScript] => typeof entry[1] === 'object',
)

describe('the functions of the simulated Redis in place of the scripts', () => {
  it.each(fleetScripts)('has a function for the current text of %s', (_, { sha }) => {
    expect(SCRIPT_FUNCTIONS.has(sha)).toBe(true)
  })

  it('has no function for a script that the fleet does not send', () => {
    const known = new Set(fleetScripts.map(([, { sha }]) => sha))
    expect([...SCRIPT_FUNCTIONS.keys()].filter((sha) => !known.has(sha))).toEqual([])
  })

  it('throws for a script that was changed without its function', () => {
    const redis = createSimulatedRedis()
    const changed = `${scripts.READ.text}\n-- changed`
    expect(() =>
      redis.execute(['EVAL', changed, 3, 'a', 'b', 'c', 'n1', 'id', 0], 1_800_000_000_000),
    ).toThrow('no function for the script')
  })

  it('runs a script with the channel of another database', () => {
    const redis = createSimulatedRedis()
    const { text, sha } = scripts.withChannel(scripts.LEAVE, `${scripts.CHANNEL}:3`)
    const input = [2, 'live', 'records', 'n1']
    redis.execute(['SUBSCRIBE', `${scripts.CHANNEL}:3`], 0, 'reader')
    redis.execute(['SUBSCRIBE', scripts.CHANNEL], 0, 'other')
    const push = { connection: 'reader', channel: `${scripts.CHANNEL}:3`, text: '{"left":true,"node":"n1"}' }
    expect(redis.execute(['EVAL', text, ...input], 0)).toEqual({ reply: 1, pushes: [push] })
    expect(redis.execute(['EVALSHA', sha, ...input], 0)).toEqual({ reply: 1, pushes: [push] })
  })
})
