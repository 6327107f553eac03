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
