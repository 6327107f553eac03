import type { Pool } from 'holdfast'
import type { PoolCoordinator } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { MemberCooldowns } from '../../../fleet/src/member-cooldowns.js'
import type { RedisConnection } from '../../../fleet/src/redis-connection.js'

// The cooldown of a member that was being told to Redis when it was ended, and could not be told, was told when Redis was back.

describe('the cooldown of a member that ended while Redis did not answer', () => {
  it('is not told to the fleet when Redis is back', async () => {
    const clock = fakeClock()
    let link: PoolCoordinator | undefined
    const connect = (given: PoolCoordinator | undefined) => {
      link = given
    }
    const pool = { id: 'p', connect } as unknown as Pool
    const told: unknown[][] = []
    let fail: ((error: Error) => void) | undefined
    const wire = {
      run: (_script: unknown, _keys: unknown, args: unknown[]) => {
        if (args.length === 0) return Promise.resolve([])
        told.push(args)
        return new Promise((_, reject) => {
          fail ??= reject
        })
      },
    } as unknown as RedisConnection
    const rests = new MemberCooldowns(wire, { node: 'n', clock, onInvalidReply: () => {} })
    await rests.setPools([pool], () => true)
    link?.onCooldownStarted('a', 60_000)
    link?.onCooldownEnded('a')
    fail?.(new Error('Redis is lost'))
    await clock.advance(0)
    told.length = 0
    await rests.sync()
    expect(told).toEqual([])
    rests.close()
  })
})
