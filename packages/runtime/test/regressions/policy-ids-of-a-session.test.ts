import { expect, it } from 'vitest'
import { failing, refused, start, timeout } from '../holdfast/setup.js'

it('sessions: a session lists each policy once, and names the policy of the last decision', async () => {
  const { hf } = await start({
    policies: {
      a: { maxAttempts: 4, backoffType: 'immediate' },
      b: { maxAttempts: 4, backoffType: 'immediate' },
    },
    subsystemMappings: { s: { op: { timeout: 'a', network_error: 'b' } } },
  })
  const errors = [timeout(), refused(), timeout(), refused()]
  let i = 0
  await failing(hf, 's.op', () => errors[i++])
  const [session] = (await hf.sessions.list()).items
  expect(session).toMatchObject({ policyIds: ['a', 'b'], policyId: 'b' })
})
