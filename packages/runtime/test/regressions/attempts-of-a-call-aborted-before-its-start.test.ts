import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 9, backoffType: 'immediate' } } }

it('metrics and sessions count no attempt of a call that was aborted before its start', async () => {
  const { hf, clock } = await start(QUICK)
  const signal = AbortSignal.abort(new Error('too late'))
  await hf.run('quick', () => 1, { signal }).catch(() => {})
  await failing(hf, 'quick', refused, { retry: { maxAttempts: 2 } })
  const sessions = (await hf.sessions.list()).items
  expect(sessions.map(({ totalAttempts, stopped }) => [stopped, totalAttempts])).toEqual([
    ['attempts_spent', 2],
    ['aborted', 0],
  ])
  const window = await hf.metrics.window({
    from: new Date(clock.wall() - 60_000),
    to: new Date(clock.wall() + 60_000),
  })
  expect(window).toMatchObject({ totalSessions: 2, totalAttempts: 2 })
})
