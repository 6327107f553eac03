import { expect, it } from 'vitest'
import { startProxy } from '../../src/index.js'

it('does not repeat invalid users in the error, because they may contain a password', async () => {
  const users = 'ann:secret' as never
  const error: Error = await startProxy({ port: 0, users }).then(
    () => new Error('started'),
    (reason) => reason,
  )
  expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
  expect(error.message).toContain('users: ')
  expect(JSON.stringify([error.message, error])).not.toContain('secret')
})
