import { expect, test } from 'vitest'
import { open } from '../fixture.js'

// Texts to validate waited in memory without a limit, because one is validated at a time: a user with the role `viewer` could send texts of
// 1 MiB faster than they are validated, and disconnect.

test('at most 20 texts wait for their validation, and further ones are accepted when these are done', async () => {
  const { hf, ask } = await open()
  const validate = hf.config.validate.bind(hf.config)
  const waiting: (() => void)[] = []
  hf.config.validate = async (text) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return validate(text)
  }
  const send = () => ask('POST', '/api/v1/config/validate', { body: '{"version":"1.1.0"}' })
  const accepted = Array.from({ length: 20 }, send)
  await expect.poll(() => waiting.length).toBe(20)
  const { status, headers, body } = await send()
  expect(status).toBe(429)
  expect(body).toMatchObject({ error: 'RATE_LIMITED' })
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  for (const resolve of waiting) resolve()
  for (const response of await Promise.all(accepted))
    expect(response.body).toEqual({ valid: true, errors: [] })
  hf.config.validate = validate
  expect((await send()).status).toBe(200)
})
