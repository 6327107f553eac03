// A replay of a dead letter that `hf.createFetch` stored sent the original request, although the payload had been edited.
import { fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import { Holdfast } from '../../src/index.js'

const ORIGINAL = {
  method: 'PUT',
  url: 'https://shop.example/orders/7',
  headers: { 'content-type': 'text/plain;charset=UTF-8' },
  body: '{"amount":5}',
  body_encoding: 'utf8',
}

/** Stores one request that failed, after which every request succeeds. */
async function storeFailedRequest() {
  const hf = await Holdfast.open({
    config: { policies: { orders: { maxAttempts: 1 } } },
    env: {},
    watch: false,
    clock: fakeClock(),
  })
  onTestFinished(() => hf.close())
  const sent: { url: string; body: unknown }[] = []
  const request = hf.createFetch('orders', {
    deadLetter: true,
    fetch: async (input, init) => {
      sent.push({ url: input as string, body: init?.body })
      return new Response(null, { status: sent.length === 1 ? 503 : 200 })
    },
  })
  await request(ORIGINAL.url, { method: 'PUT', body: ORIGINAL.body })
  const [entry] = (await hf.deadLetters.list()).items
  expect(entry?.originalPayload).toEqual(ORIGINAL)
  return { hf, sent, id: entry?.dlqId ?? '' }
}

it('sends the edited request when a dead letter of a fetch is replayed', async () => {
  const { hf, sent, id } = await storeFailedRequest()
  await hf.deadLetters.edit(id, { ...ORIGINAL, url: 'https://shop.example/orders/8', body: '{"amount":50}' })
  expect(await hf.deadLetters.replay(id)).toMatchObject({ status: 'completed' })
  expect(sent.slice(1)).toEqual([{ url: 'https://shop.example/orders/8', body: '{"amount":50}' }])
})

it('keeps a dead letter of a fetch, and sends nothing, when its edited payload is not a request', async () => {
  const { hf, sent, id } = await storeFailedRequest()
  await hf.deadLetters.edit(id, { amount: 50 })
  expect(await hf.deadLetters.replay(id)).toMatchObject({
    status: 'failed',
    originalPayload: ORIGINAL,
    editedPayload: { amount: 50 },
    errorDetails: { history: [{ errorMessage: expect.stringContaining('is not a request') }] },
  })
  expect(sent).toHaveLength(1)
})
