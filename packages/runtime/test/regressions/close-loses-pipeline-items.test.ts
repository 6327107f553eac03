// A pipeline item whose step ended during `close` was rejected at its next step and not stored.
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../store/src/store.js'
import { Holdfast } from '../../src/index.js'

const CONFIG = { policies: { a: { maxAttempts: 1 }, b: { maxAttempts: 1 } } }

/** Opens a runtime whose store can be read after `close`. */
async function openRuntime(clock: FakeClock, config: object = CONFIG): Promise<Holdfast> {
  const hf = await Holdfast.open({ config, env: {}, watch: false, clock })
  onTestFinished(() => hf.close())
  return hf
}

const storedIn = async ({ deadLetters }: Store, clock: FakeClock) =>
  (await deadLetters.list(undefined, new Date(clock.wall()))).items

const wait = (clock: FakeClock, ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms))

it('stores an item whose next step is rejected because the runtime closes', async () => {
  const clock = fakeClock()
  const hf = await openRuntime(clock)
  const started: string[] = []
  const running = hf
    .pipeline([
      { operation: 'a', run: async (id: string) => (await wait(clock, 60), `read ${id}`) },
      { operation: 'b', run: (text: string) => started.push(text) },
    ])
    .run(['1'], { idempotencyKey: () => 'key' })
  await clock.advance(10)
  const closed = hf.close()
  await clock.advance(100)
  await closed

  const { items } = await running
  expect(items).toMatchObject([{ status: 'failed', step: 'b', error: { code: 'CANCELLED' } }])
  expect(started).toEqual([])
  const stored = await storedIn(hf.store, clock)
  expect(stored).toMatchObject([
    {
      dlqId: items[0]?.deadLetterId,
      operationType: 'b',
      itemId: '1',
      idempotencyKey: 'key:b',
      policyId: 'b',
      originalPayload: { step: 'b', item: '1', value: 'read 1' },
      errorDetails: { errorMessage: 'the runtime is closed', retryCount: 0 },
    },
  ])
})

it('stores an item whose next step starts some time after the last active call has ended', async () => {
  const clock = fakeClock()
  const hf = await openRuntime(clock)
  const run = hf.run.bind(hf)
  hf.run = async (...args) => {
    const value = await run(...args)
    await wait(clock, 5)
    return value
  }
  const running = hf
    .pipeline([
      { operation: 'a', run: () => wait(clock, 60) },
      { operation: 'b', run: () => 1 },
    ])
    .run([1])
  await clock.advance(10)
  const closed = hf.close()
  await clock.advance(100)
  await closed
  const { items } = await running
  const stored = await storedIn(hf.store, clock)
  expect(stored).toMatchObject([{ dlqId: items[0]?.deadLetterId, operationType: 'b', itemId: '1' }])
})

it('stores every item of a pipeline whose steps end at different times during close', async () => {
  const clock = fakeClock()
  const hf = await openRuntime(clock)
  const running = hf
    .pipeline([
      { operation: 'a', run: async (ms: number) => (await wait(clock, ms), ms) },
      { operation: 'b', run: async (ms: number) => (await wait(clock, ms), ms), fallback: () => 'unused' },
    ])
    .run([20, 40, 9000, 12_000])
  await clock.advance(30)
  const closed = hf.close()
  await clock.advance(20_000)
  await closed
  const { items } = await running
  expect(items.map(({ status, step, value }) => [status, step ?? value])).toEqual([
    ['succeeded', 20],
    ['failed', 'b'],
    ['failed', 'b'],
    ['failed', 'a'],
  ])
  const ids = (await storedIn(hf.store, clock)).map(({ dlqId }) => dlqId)
  expect(ids.toSorted()).toEqual(items.flatMap(({ deadLetterId = [] }) => deadLetterId).toSorted())
  expect(ids).toHaveLength(3)
})

it('does not store an item that is rejected by close under a policy that stores no dead letters', async () => {
  const clock = fakeClock()
  const hf = await openRuntime(clock, { policies: { ...CONFIG.policies, b: { deadLetter: false } } })
  const running = hf
    .pipeline([
      { operation: 'a', run: () => wait(clock, 60) },
      { operation: 'b', run: () => 1 },
    ])
    .run(['1'])
  await clock.advance(10)
  const closed = hf.close()
  await clock.advance(100)
  await closed
  expect((await running).items).toMatchObject([{ status: 'failed', error: { code: 'CANCELLED' } }])
  expect(await storedIn(hf.store, clock)).toEqual([])
})

it('stores nothing for a call that starts after close has ended', async () => {
  const clock = fakeClock()
  const hf = await openRuntime(clock)
  await hf.close()
  await expect(hf.run('a', () => 1, { payload: 1 })).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(await storedIn(hf.store, clock)).toEqual([])
})
