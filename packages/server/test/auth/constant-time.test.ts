import { beforeEach, describe, expect, test, vi } from 'vitest'
import { csrfTokenOf, isCsrfTokenOf } from '../../src/auth/sign-ins.js'
import { createToken } from '../../src/auth/tokens.js'
import { open } from '../fixture.js'

type Comparison = (a: Buffer, b: Buffer) => boolean

/** `timingSafeEqual` as the sources see it. A test can replace its result, so that it is visible whether it alone decides. */
const { timingSafeEqual } = vi.hoisted(() => ({ timingSafeEqual: vi.fn<Comparison>() }))

vi.mock('node:crypto', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:crypto')>()),
  timingSafeEqual,
}))

const real = (await vi.importActual<typeof import('node:crypto')>('node:crypto')).timingSafeEqual

beforeEach(() => {
  timingSafeEqual.mockReset().mockImplementation(real)
})

/** Secrets that are wrong in different ways. A comparison that is not constant in time handles them differently. */
const WRONG: readonly [name: string, change: (secret: string) => string][] = [
  ['with another first character', (secret) => `!${secret.slice(1)}`],
  ['with another last character', (secret) => `${secret.slice(0, -1)}!`],
  ['that is longer', (secret) => `${secret}!`],
  ['that is shorter', (secret) => secret.slice(0, -1)],
  ['of one character', () => 'x'],
]

/** The lengths of the values that were compared. */
const comparedLengths = () => timingSafeEqual.mock.calls.map(([a, b]) => [a.length, b.length])

describe('tokens are compared in constant time:', () => {
  async function twoTokens() {
    const { hf, ask } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'admin' })
    await createToken(hf, { name: 'bob', role: 'viewer' })
    const statusOf = async (given: string) => {
      timingSafeEqual.mockClear()
      return (await ask('GET', '/api/v1/policies', { headers: { authorization: `Bearer ${given}` } })).status
    }
    return { token, statusOf }
  }

  test.each(WRONG)('a token %s is compared with the hash of every token', async (_, change) => {
    const { token, statusOf } = await twoTokens()
    expect(await statusOf(token)).toBe(200)
    const lengths = comparedLengths()
    expect(lengths.slice(0, 2)).toEqual([
      [32, 32],
      [32, 32],
    ])
    expect(await statusOf(change(token))).toBe(401)
    expect(comparedLengths()).toEqual(lengths)
  })

  test.each(WRONG)('no other comparison decides about a token %s', async (_, change) => {
    const { token, statusOf } = await twoTokens()
    timingSafeEqual.mockReturnValue(true)
    expect(await statusOf(change(token))).toBe(200)
  })

  test('no other comparison decides about the right token', async () => {
    const { token, statusOf } = await twoTokens()
    timingSafeEqual.mockReturnValue(false)
    expect(await statusOf(token)).toBe(401)
    expect(comparedLengths().length).toBeGreaterThan(0)
  })

  test('no other comparison decides about the token of a sign-in', async () => {
    const { hf, ask } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'admin' })
    const signIn = (given: string) =>
      ask('POST', '/api/v1/access/session', {
        headers: { host: 'localhost:8000', authorization: `Bearer ${given}` },
      })
    expect((await signIn(token)).status).toBe(201)
    expect((await signIn(`${token}!`)).status).toBe(401)
    timingSafeEqual.mockReturnValue(true)
    expect((await signIn(`${token}!`)).status).toBe(201)
    timingSafeEqual.mockReturnValue(false)
    expect((await signIn(token)).status).toBe(401)
  })
})

describe('CSRF tokens are compared in constant time:', () => {
  const SECRET = 'the secret of a sign-in'

  test.each([...WRONG, ['that is missing', () => undefined] as const])(
    'no other comparison decides about a CSRF token %s',
    (_, change) => {
      const given = change(csrfTokenOf(SECRET))
      expect(isCsrfTokenOf(SECRET, given)).toBe(false)
      timingSafeEqual.mockReturnValue(true)
      expect(isCsrfTokenOf(SECRET, given)).toBe(true)
      expect(comparedLengths()).toEqual([
        [32, 32],
        [32, 32],
      ])
    },
  )

  test('no other comparison decides about the right CSRF token', () => {
    const given = csrfTokenOf(SECRET)
    expect(isCsrfTokenOf(SECRET, given)).toBe(true)
    timingSafeEqual.mockReturnValue(false)
    expect(isCsrfTokenOf(SECRET, given)).toBe(false)
  })
})
