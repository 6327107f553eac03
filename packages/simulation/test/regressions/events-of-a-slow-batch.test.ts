import type { RuntimeContext } from '@holdfast/config'
import type { RetryEvent } from '@holdfast/records'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { FleetEventStream } from '../../../fleet/src/event-stream.js'
import type { RedisConnection } from '../../../fleet/src/redis-connection.js'

// A batch was sent while the one before had no reply. If Redis did not know the script of the first one, the second was stored before it.

it('sends a batch of events after the reply to the one before', async () => {
  const clock = fakeClock()
  const replies: (() => void)[] = []
  const run = () => new Promise<void>((resolve) => replies.push(resolve))
  const redis = { isUp: true, run } as unknown as RedisConnection
  const stream = new FleetEventStream({ clock } as unknown as RuntimeContext, redis, 'n1', () => {})
  const add = (eventId: string) => stream.add({ eventId, timestamp: new Date(0) } as RetryEvent)
  add('a')
  await clock.advance(100)
  add('b')
  await clock.advance(100)
  expect(replies).toHaveLength(1)
  replies[0]?.()
  await clock.advance(100)
  expect(replies).toHaveLength(2)
})
