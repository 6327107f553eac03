import type { RetryEvent } from '@holdfast/runtime'
import { fakeClock } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { EventFeed } from '../../src/events/feed.js'
import { createSelection } from '../../src/events/reader.js'
import type { HoldfastLike } from '../../src/runtime-api.js'

test('a batch for many readers is sent when it has 1,000 events, before its delay has passed', async () => {
  const clock = fakeClock()
  let emit: (event: RetryEvent) => unknown = () => {}
  const events = {
    on(_: string, listener: typeof emit) {
      emit = listener
      return () => {}
    },
  }
  const feed = new EventFeed({ events } as unknown as HoldfastLike, {
    clock,
    heartbeat: 15_000,
    buffer: 1e9,
  })
  onTestFinished(() => feed.close())
  // A batch for 100 readers waits for 50 ms.
  const readers = Array.from({ length: 100 }, () =>
    feed.open(createSelection(), undefined, () => true, new AbortController().signal).getReader(),
  )
  const received = ['', '']
  const readNext = async (at: number) => {
    const { value } = (await readers[at]?.read()) ?? {}
    received[at] += new TextDecoder().decode(value as Uint8Array)
  }
  await Promise.all([readNext(0), readNext(1)])
  void readNext(0)
  void readNext(1)
  const publish = (count: number) => {
    for (let i = 0; i < count; i++)
      emit({ eventId: `e${i}`, eventType: 'retry_failure', timestamp: new Date(0) } as RetryEvent)
  }
  const counts = () => received.map((text) => text.match(/^event: retry_failure$/gm)?.length ?? 0)
  publish(999)
  await clock.advance(1)
  expect(counts()).toEqual([0, 0])
  publish(1)
  await clock.advance(0)
  expect(counts()).toEqual([1000, 1000])
  void readNext(0)
  publish(2)
  await clock.advance(49)
  expect(counts()).toEqual([1000, 1000])
  await clock.advance(1)
  expect(counts()).toEqual([1002, 1000])
})
