// A flush that waited for more records than a later flush, which is possible after `close` has dropped records, never ended.
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { Outbox } from '../../src/events/outbox.js'

it('a flush from before the close of an outbox ends if the store responds after it', async () => {
  const clock = fakeClock()
  const writes: (() => void)[] = []
  const outbox = new Outbox<number>({
    clock,
    capacity: 10_000,
    writeBatch: () => new Promise((resolve) => writes.push(resolve)),
    onDropped: () => {},
    onFailed: () => {},
  })
  for (let i = 0; i < 600; i++) outbox.add(i)
  const ended: string[] = []
  void outbox.flush().then(() => ended.push('before'))
  const closed = outbox.close()
  await clock.advance(10_000)
  await closed
  void outbox.flush().then(() => ended.push('after'))
  for (const write of writes) write()
  await clock.advance(1)
  expect(ended.toSorted()).toEqual(['after', 'before'])
})
