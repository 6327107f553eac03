import { byOperationCodec } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { failCall, open } from '../fixture.js'

test('the metrics of operations have seconds, a step and the breakers of each operation', async () => {
  const { ask, hf } = await open()
  await failCall(hf, 'guarded')
  await hf.run('save', async () => 1)
  await hf.run('save', async () => 1)
  const from = '2026-01-29T11:00:00Z'
  const to = '2026-01-29T13:00:00Z'
  const { status, body } = await ask('GET', `/api/v1/metrics/operations?from=${from}&to=${to}&step=3600`)
  expect(status).toBe(200)
  expect(body.step).toBe(3600)
  expect(body.operations).toMatchObject([
    { operation: 'save', calls: 2, successes: 2, failures: 0, rejections: 0, breakers: [] },
    { operation: 'guarded', calls: 1, failures: 1, breakers: ['policy:guarded'] },
  ])
  expect(body.operations[0].data_points).toMatchObject([{ timestamp: '2026-01-29T12:00:00.000Z', calls: 2 }])
  const one = await ask('GET', `/api/v1/metrics/operations?from=${from}&to=${to}&operation=guarded`)
  expect(one.body.operations).toHaveLength(1)
})

test('the metrics of operations reject a step that is not a multiple of a minute, and a range that ends before it begins', async () => {
  const { ask } = await open()
  expect(await ask('GET', '/api/v1/metrics/operations?step=90')).toMatchObject({
    status: 400,
    body: { details: [{ in: 'query', path: 'step' }] },
  })
  expect(
    await ask('GET', '/api/v1/metrics/operations?from=2026-01-29T13:00:00Z&to=2026-01-29T12:00:00Z'),
  ).toMatchObject({ status: 400, body: { details: [{ path: 'from' }] } })
})

test('the metrics of many operations are serialized in many turns of the event loop', async () => {
  const { ask, hf } = await open()
  for (let i = 0; i < 300; i++) await hf.run(`operation ${i}`, async () => 1)
  const range = { from: new Date('2026-01-29T11:00:00Z'), to: new Date('2026-01-29T13:00:00Z') }
  const metrics = await hf.metrics.operations(range)
  Object.assign(hf.metrics, { operations: async () => metrics })
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  const { status, body, headers } = await ask('GET', '/api/v1/metrics/operations')
  expect(turns).toBeGreaterThanOrEqual(300)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('application/json')
  expect(body).toEqual(JSON.parse(JSON.stringify(byOperationCodec.encode(metrics))))
})
