import type { Pool } from 'holdfast'
import type { PoolCoordinator } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { MemberCooldowns } from '../../src/member-cooldowns.js'
import type { RedisConnection } from '../../src/redis-connection.js'

// A cooldown that ended while it was being sent, and could not be sent, was sent again after a reconnect.

describe('a cooldown that ended before Redis confirmed it', () => {
  it('is not sent after a reconnect', async () => {
    const clock = fakeClock()
    let coordinator: PoolCoordinator | undefined
    const setCoordinator = (given: PoolCoordinator | undefined) => {
      coordinator = given
    }
    const pool = { id: 'p', setCoordinator } as unknown as Pool
    const sent: unknown[][] = []
    let fail: ((error: Error) => void) | undefined
    const redis = {
      run: (_script: unknown, _keys: unknown, args: unknown[]) => {
        if (args.length === 0) return Promise.resolve([])
        sent.push(args)
        return new Promise((_, reject) => {
          fail ??= reject
        })
      },
    } as unknown as RedisConnection
    const cooldowns = new MemberCooldowns(redis, { node: 'n', clock, onInvalidReply: () => {} })
    await cooldowns.setPools([pool], () => true)
    coordinator?.onCooldownStarted('a', 60_000)
    coordinator?.onCooldownEnded('a')
    expect(fail).toBeDefined()
    fail?.(new Error('Redis is not available'))
    await clock.advance(0)
    sent.length = 0
    await cooldowns.sync()
    expect(sent).toEqual([])
    cooldowns.close()
  })
})
