import { expect, it } from 'vitest'
import { openTelemetry, prometheus } from '../../src/index.js'
import { refused, start } from '../holdfast/setup.js'

const CONFIG = { policies: { send: { maxAttempts: 2, backoffType: 'immediate' } } } as const

it('prometheus returns the metrics of a runtime without a server', async () => {
  const { hf } = await start(CONFIG)
  await hf.run('send', () => 'sent')
  await hf.run('send', () => Promise.reject(refused())).catch(() => {})

  const lines = (await prometheus(hf)).split('\n')
  expect(lines).toContain('holdfast_calls_total{operation="send",result="success",retried="false"} 1')
  expect(lines).toContain('holdfast_calls_total{operation="send",result="failure",retried="true"} 1')
  expect(lines).toContain('holdfast_retries_total{operation="send"} 1')
  expect(lines).toContain('# TYPE holdfast_call_duration_seconds histogram')
})

it('prometheus counts events between two readings', async () => {
  const { hf } = await start(CONFIG)
  expect(await prometheus(hf)).toContain('holdfast_config_reloads_total{result="taken"} 0')
  await hf.policies.put({ id: 'other', maxAttempts: 2 })
  expect(await prometheus(hf)).toContain('holdfast_config_reloads_total{result="taken"} 1')
})

it('openTelemetry of the runtime traces calls, and stops', async () => {
  const { hf } = await start(CONFIG)
  const { run } = hf
  const stop = await openTelemetry(hf)
  expect(hf.run).not.toBe(run)
  expect(await hf.run('send', () => 'sent')).toBe('sent')
  stop()
  expect(hf.run).toBe(run)
})

it.each([
  [0, 1],
  [1, 0],
])('openTelemetry called twice traces each call once, until both have stopped: %i, %i', async (...order) => {
  const { hf } = await start(CONFIG)
  const { run, guardFor } = hf
  const stops = [await openTelemetry(hf), await openTelemetry(hf)]
  const traced = hf.run
  const [first, second] = order
  stops[first]?.()
  stops[first]?.()
  expect(hf.run).toBe(traced)
  stops[second]?.()
  expect([hf.run, hf.guardFor]).toEqual([run, guardFor])
  expect(await hf.run('send', () => 'sent')).toBe('sent')
})

it('prometheus removes its listeners when the runtime is closed', async () => {
  const { hf } = await start(CONFIG)
  let listeners = 0
  const { on } = hf.events
  hf.events.on = (...args) => {
    listeners++
    const off = on(...args)
    return () => {
      listeners--
      off()
    }
  }
  await prometheus(hf)
  expect(listeners).toBeGreaterThan(0)
  await hf.close()
  expect(listeners).toBe(0)
})
