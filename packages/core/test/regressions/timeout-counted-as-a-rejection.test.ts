// A call whose attempt timed out and opened the breaker ended with a HoldfastError and the stop reason circuit_open. The metrics of
// a guard counted it as a rejection, although its function had been called.
import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { instrument } from '../../src/telemetry/index.js'
import { fakeClock } from '../../src/testing/index.js'

function createMeter() {
  const rejections: object[] = []
  return {
    rejections,
    createCounter: (name: string) => ({
      add: (_: number, labels?: object) => {
        if (name === 'holdfast_rejections') rejections.push(labels ?? {})
      },
    }),
    createHistogram: () => ({ record: () => {} }),
  }
}

it('counts a call as rejected only if its function was not called', async () => {
  const clock = fakeClock()
  const meter = createMeter()
  const api = guard({ name: 'api', breaker: { failureThreshold: 1 }, timeout: { attempt: 100 }, clock })
  instrument(api, { meter })
  const timedOut = api.run(() => new Promise(() => {})).catch((error) => error.code)
  await clock.advance(100)
  expect(await timedOut).toBe('ATTEMPT_TIMEOUT')
  expect(meter.rejections).toEqual([])

  expect(await api.run(() => 1).catch((error) => error.code)).toBe('CIRCUIT_OPEN')
  expect(meter.rejections).toEqual([{ operation: 'api', reason: 'circuit_open' }])
})
