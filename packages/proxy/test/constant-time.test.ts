import { beforeEach, describe, expect, it, vi } from 'vitest'
import { UserDirectory } from '../src/server/users.js'
import { basic } from './helpers/clients.js'

/** `timingSafeEqual` as the sources see it. A test can replace its result, so that it is visible whether it alone decides. */
const { timingSafeEqual } = vi.hoisted(() => ({
  timingSafeEqual: vi.fn<(a: Buffer, b: Buffer) => boolean>(),
}))

vi.mock('node:crypto', async (importOriginal) => ({
  ...(await importOriginal<typeof import('node:crypto')>()),
  timingSafeEqual,
}))

const real = (await vi.importActual<typeof import('node:crypto')>('node:crypto')).timingSafeEqual

beforeEach(() => {
  timingSafeEqual.mockReset().mockImplementation(real)
})

const PASSWORD = 'correct-horse'

describe('passwords of the proxy are compared in constant time:', () => {
  const users = new UserDirectory([
    { name: 'ann', password: PASSWORD },
    { name: 'bob', password: 'other' },
  ])
  const lengths = () => timingSafeEqual.mock.calls.map(([a, b]) => [a.length, b.length])

  it.each(['!orrect-horse', 'correct-hors!', 'correct-horse!', 'correct-hors', 'x', ''])(
    'no other comparison decides about the password %j',
    (password) => {
      expect(users.authenticate(basic('ann', password))).toBeUndefined()
      timingSafeEqual.mockReturnValue(true)
      expect(users.authenticate(basic('ann', password))).toMatchObject({ user: 'ann' })
      expect(lengths()).toEqual([
        [32, 32],
        [32, 32],
      ])
    },
  )

  it('no other comparison decides about the right password', () => {
    expect(users.authenticate(basic('ann', PASSWORD))).toMatchObject({ user: 'ann' })
    timingSafeEqual.mockReturnValue(false)
    expect(users.authenticate(basic('ann', PASSWORD))).toBeUndefined()
  })

  it('the password of an unknown name is compared too, and is never right', () => {
    timingSafeEqual.mockReturnValue(true)
    expect(users.authenticate(basic('eve', ''))).toBeUndefined()
    expect(lengths()).toEqual([[32, 32]])
  })
})
