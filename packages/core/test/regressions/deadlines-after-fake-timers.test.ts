import { afterEach, expect, it, vi } from 'vitest'
import { guard } from '../../src/index.js'

afterEach(() => {
  vi.useRealTimers()
})

const hang = () => new Promise<never>(() => {})

it('ends an attempt at its deadline after fake timers were replaced by real ones', async () => {
  const api = guard({ timeout: { attempt: 20 }, retry: false })
  vi.useFakeTimers()
  await api.run(async () => 'value')
  vi.useRealTimers()
  await expect(api.run(hang)).rejects.toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
})

it('ends an attempt at its deadline after fake timers were installed again', async () => {
  const api = guard({ timeout: { attempt: 20 }, retry: false })
  vi.useFakeTimers()
  await api.run(async () => 'value')
  vi.useRealTimers()
  vi.useFakeTimers()
  const result = api.run(hang).catch((error: { code: string }) => error.code)
  await vi.advanceTimersByTimeAsync(50)
  expect(await result).toBe('ATTEMPT_TIMEOUT')
})
