import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

it('run: a call that names an enabled policy retries although the policy of its operation is disabled', async () => {
  const { hf } = await start({
    policies: { default: { enabled: false }, other: { maxAttempts: 3, backoffType: 'immediate' } },
  })
  let calls = 0
  await failing(hf, 'op', () => (calls++, refused()), { policy: 'other' })
  expect(calls).toBe(3)
})
