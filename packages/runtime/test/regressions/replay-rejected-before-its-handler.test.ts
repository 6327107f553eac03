import { HoldfastError } from 'holdfast'
import { expect, it } from 'vitest'
import { refused, start } from '../holdfast/setup.js'

const CONFIG = {
  subsystemMappings: { mail: { send: { default: 'plain', timeout: 'careful' } } },
  policies: {
    plain: { maxAttempts: 1 },
    careful: { maxAttempts: 1, enableCircuitBreaker: true },
  },
} as const

it('a replay that the breaker of another policy rejects before its handler is called leaves the entry pending', async () => {
  const { hf } = await start(CONFIG)
  await hf.run('mail.send', () => Promise.reject(refused()), { payload: { id: 1 } }).catch(() => {})
  const [entry] = (await hf.deadLetters.list()).items
  const dlqId = entry?.dlqId as string
  let calls = 0
  hf.deadLetters.handle('mail.send', () => void calls++)
  await hf.breakers.trip('policy:careful')

  await expect(hf.deadLetters.replay(dlqId)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  expect([calls, (await hf.deadLetters.get(dlqId))?.status]).toEqual([0, 'pending'])

  await hf.breakers.reset('policy:careful')
  expect((await hf.deadLetters.replay(dlqId)).status).toBe('completed')
  expect(calls).toBe(1)
})

it('a replay whose handler throws CIRCUIT_OPEN has failed', async () => {
  const { hf } = await start(CONFIG)
  await hf.run('mail.send', () => Promise.reject(refused()), { payload: { id: 1 } }).catch(() => {})
  const [entry] = (await hf.deadLetters.list()).items
  hf.deadLetters.handle('mail.send', () => {
    throw new HoldfastError('CIRCUIT_OPEN', 'the breaker of a service inside the handler is open')
  })
  expect((await hf.deadLetters.replay(entry?.dlqId as string)).status).toBe('failed')
})
