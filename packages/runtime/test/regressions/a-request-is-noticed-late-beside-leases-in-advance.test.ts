import { expect, it } from 'vitest'
import { eventually, freshStore, setup } from '../dead-letters/setup.js'

it('a request that arrives while all handlers run is served although an entry was leased in advance', async () => {
  const store = await freshStore('batches')
  let notify = () => {}
  Object.assign(store.deadLetters, {
    onRequest: (listener: () => void) => {
      notify = listener
      return () => {}
    },
  })
  const { queue, enqueue, clock } = await setup({ store })
  const request = async (item: string) => {
    const { dlqId } = await enqueue(item)
    await store.deadLetters.request(dlqId, new Date(clock.wall()))
    return dlqId
  }
  const ends: (() => void)[] = []
  queue.handle('write', () => new Promise<void>((resolve) => ends.push(resolve)))
  const end = async (at: number) => {
    await eventually(async () => {
      await clock.advance(0)
      expect(ends.length).toBeGreaterThan(at)
    })
    ends[at]?.()
  }
  for (const item of ['a', 'b', 'c', 'd', 'e']) await request(item)
  const work = queue.work({ concurrency: 1 })
  // Fast replays let the worker lease more entries: with `d` it also leases `e`, the last one.
  for (let at = 0; at < 3; at++) await end(at)
  await eventually(async () => {
    await clock.advance(0)
    expect(ends).toHaveLength(4)
  })
  const late = await request('late')
  notify()
  for (let at = 3; at < 6; at++) await end(at)
  await eventually(async () => expect((await queue.get(late))?.status).toBe('completed'))
  await queue.close()
  await work
})
