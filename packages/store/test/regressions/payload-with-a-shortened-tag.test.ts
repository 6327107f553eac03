import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { KeyRing } from '../../src/key-ring.js'

// The authentication tag of an encrypted payload could be shortened to 4 bytes, so that a changed payload was accepted once in 2^32 tries.

it.each([4, 8, 12, 15])('rejects an encrypted payload whose tag has %i bytes', (bytes) => {
  const keys = new KeyRing(randomBytes(32).toString('hex'))
  const stored = keys.encrypt({ to: 'ann' }, 'dlq_1') as { tag: string }
  expect(keys.decrypt(stored, 'dlq_1')).toEqual({ to: 'ann' })
  const tag = Buffer.from(stored.tag, 'base64').subarray(0, bytes).toString('base64')
  expect(() => keys.decrypt({ ...stored, tag }, 'dlq_1')).toThrow(/cannot be decrypted/)
})
