import { Holdfast } from '@holdfast/runtime'
import { type FakeClock, fakeClock } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../src/serve/serve.js'
import { failCall } from '../fixture.js'

/** A server with a job whose replay does not end by itself. */
async function startReplay() {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const config = { version: '1.2.0', policies: { default: { maxAttempts: 1 } } }
  const hf = await Holdfast.open({ config, clock, env: {}, watch: false })
  onTestFinished(() => void timeUntil(clock, hf.close()))
  await failCall(hf, 'save', { payload: { a: 1 } })
  const isReplaying = new Promise<void>((resolve) => {
    hf.deadLetters.handle('save', () => {
      resolve()
      return new Promise(() => {})
    })
  })
  const server = await startServer(hf, { port: 0, clock, dashboard: false })
  const path = `${server.url}/api/v1/dead-letters/replay`
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(path, { method: 'POST', headers, body: '{}' })).status).toBe(202)
  await isReplaying
  return { clock, hf, server }
}

/** How many milliseconds of the clock pass until the promise resolves. */
async function timeUntil(clock: FakeClock, wanted: Promise<unknown>): Promise<number> {
  const start = clock.now()
  let isOver = false
  void wanted.finally(() => {
    isOver = true
  })
  // A close that takes longer fails the test.
  while (!isOver && clock.now() < start + 60_000) {
    await clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return clock.now() - start
}

test('a server that closes with its runtime ends a replay in progress after ten seconds', async () => {
  const { clock, hf, server } = await startReplay()
  const closing = server.closeWith(() => hf.close())
  expect(await timeUntil(clock, closing)).toBeLessThan(12_000)
  expect((await hf.health()).status).toBe('closed')
})

test('a server that closes without its runtime waits ten seconds for a replay in progress', async () => {
  const { clock, hf, server } = await startReplay()
  const ms = await timeUntil(clock, server.close())
  expect(ms).toBeGreaterThanOrEqual(10_000)
  expect(ms).toBeLessThan(12_000)
  expect((await hf.health()).status).toBe('ok')
})
