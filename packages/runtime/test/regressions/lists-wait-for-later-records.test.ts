// A list of sessions, events, error records or changes of breakers waited for records that arrived after it was requested, and
// therefore never ended while records arrived faster than the store wrote them.
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Outbox } from '../../src/events/outbox.js'
import { Holdfast } from '../../src/index.js'

/** An outbox whose writes take 10 ms, while a record arrives every 5 ms. */
function setupBusyOutbox() {
  const clock = fakeClock()
  const written: number[] = []
  const state = { fails: false, isBusy: true }
  const outbox = new Outbox<number>({
    clock,
    capacity: 10_000,
    async writeBatch(records) {
      await new Promise<void>((resolve) => clock.setTimer(resolve, 10))
      if (state.fails) throw new Error('full')
      written.push(...records)
    },
    onDropped: () => {},
    onFailed: () => {},
  })
  let count = 0
  const add = () => {
    outbox.add(count++)
    if (state.isBusy) clock.setTimer(add, 5)
  }
  add()
  onTestFinished(() => {
    state.isBusy = false
  })
  return { clock, outbox, written, state, countOf: () => count }
}

describe('a flush of an outbox', () => {
  it('resolves when the records that were added before it are written, while others arrive', async () => {
    const { clock, outbox, written, countOf } = setupBusyOutbox()
    await clock.advance(300)
    const [added, before] = [countOf(), clock.now()]
    let writtenAtEnd: readonly number[] = []
    const flushed = outbox.flush().then(() => {
      writtenAtEnd = [...written]
    })
    await clock.advance(30)
    expect(writtenAtEnd.slice(0, added)).toEqual(Array.from({ length: added }, (_, i) => i))
    expect(clock.now() - before).toBe(30)
    await flushed
  })

  it('resolves when a write fails', async () => {
    const { clock, outbox, state } = setupBusyOutbox()
    await clock.advance(300)
    state.fails = true
    let isFlushed = false
    const flushed = outbox.flush().then(() => {
      isFlushed = true
    })
    await clock.advance(30)
    expect(isFlushed).toBe(true)
    await flushed
  })

  it('resolves without records', async () => {
    const { clock, outbox, written, state, countOf } = setupBusyOutbox()
    state.isBusy = false
    await clock.advance(1000)
    await outbox.flush()
    expect(written).toHaveLength(countOf())
  })

  it('is not needed for records that arrive while the outbox closes', async () => {
    const { clock, outbox, written, state, countOf } = setupBusyOutbox()
    await clock.advance(300)
    const closed = outbox.close()
    await clock.advance(12)
    state.isBusy = false
    await clock.advance(100)
    await closed
    expect(written).toHaveLength(countOf())
  })
})

it('lists events while events arrive faster than the store writes them', async () => {
  const clock = fakeClock()
  const config = { policies: { a: { maxAttempts: 1 } } }
  const hf = await Holdfast.open({ config, env: {}, watch: false, clock })
  onTestFinished(() => hf.close())
  const { events } = hf.store
  const append = events.append.bind(events)
  events.append = async (records) => {
    await new Promise<void>((resolve) => clock.setTimer(resolve, 10))
    await append(records)
  }
  let isBusy = true
  const fail = () => {
    if (!isBusy) return
    hf.run('a', () => Promise.reject(new Error('down'))).catch(() => {})
    clock.setTimer(fail, 5)
  }
  fail()
  await clock.advance(200)
  let listed = 0
  const list = hf.events.list().then(({ items }) => {
    listed = items.length
  })
  await clock.advance(50)
  const listedInTime = listed
  isBusy = false
  await clock.advance(1000)
  await list
  events.append = append
  expect(listedInTime).toBeGreaterThan(0)
})
