import { expect, test } from 'vitest'
import { isLoopback } from '../../src/auth/local-request.js'

test.each([
  '127.0.0.1',
  '127.9.9.9',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  'localhost',
  'LOCALHOST',
  'a.localhost',
])('%s is this machine', (host) => expect(isLoopback(host)).toBe(true))

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '::2',
  '1::1',
  '::ffff:10.0.0.1',
  'localhost.evil.example',
  'notlocalhost',
  '127.0.0.1.evil.example',
  '',
])('%s is not', (host) => expect(isLoopback(host)).toBe(false))
