// The fallback of a pipeline step answered a call that an operator had cancelled, and the item of a fallback that failed was
// stored although the policy of its step stores no dead letters.
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import { Holdfast } from '../../src/index.js'

async function openRuntime(policy: object, clock: FakeClock = fakeClock()): Promise<Holdfast> {
  const config = { policies: { secrets: { maxAttempts: 1, ...policy } } }
  const hf = await Holdfast.open({ config, env: {}, watch: false, clock })
  onTestFinished(() => hf.close())
  return hf
}

const failingStep = {
  operation: 'secrets',
  run: () => {
    throw new Error('the vault is sealed')
  },
  fallback: () => {
    throw new Error('there is no .env')
  },
}

it('stores an item whose step an operator cancels, and does not call the fallback of the step', async () => {
  const clock = fakeClock()
  const hf = await openRuntime({ maxAttempts: 2, backoffType: 'fixed', baseDelay: 1000 }, clock)
  let fallbacks = 0
  const running = hf.pipeline([{ ...failingStep, fallback: () => `fallback ${++fallbacks}` }]).run(['TOKEN'])
  await clock.advance(1)
  const [session] = (await hf.sessions.list({ active: true })).items
  expect(await hf.sessions.cancel(session?.sessionId ?? '')).toBe(true)

  const { items } = await running
  expect(items).toMatchObject([{ status: 'failed', step: 'secrets', error: { code: 'CANCELLED' } }])
  expect(fallbacks).toBe(0)
  expect((await hf.deadLetters.list()).items).toMatchObject([
    { dlqId: items[0]?.deadLetterId, originalPayload: { step: 'secrets', item: 'TOKEN', value: 'TOKEN' } },
  ])
})

it.each([
  ['with deadLetter: false', { deadLetter: false }],
  ['in shadow mode', { shadow: true }],
])('stores no item under a policy %s when the fallback of its step fails', async (_, policy) => {
  const hf = await openRuntime(policy)
  const { items } = await hf.pipeline([failingStep]).run(['TOKEN'])
  expect(items).toMatchObject([
    { status: 'failed', error: { message: 'there is no .env', cause: { message: 'the vault is sealed' } } },
  ])
  expect((await hf.deadLetters.list()).items).toEqual([])
})

it('stores an item with the error of its step when the fallback of the step fails', async () => {
  const hf = await openRuntime({ maxAttempts: 2, backoffType: 'immediate' })
  const { items } = await hf.pipeline([failingStep]).run(['TOKEN'])
  const stored = (await hf.deadLetters.list()).items
  expect(stored).toMatchObject([
    { itemId: 'TOKEN', errorDetails: { errorMessage: 'the vault is sealed', retryCount: 1 } },
  ])
  expect(items[0]?.deadLetterId).toBe(stored[0]?.dlqId)
})
