import { describe, expect, it } from 'vitest'
import { UserDirectory } from '../src/server/users.js'
import { basic } from './kit/clients.js'

const users = new UserDirectory([
  { name: 'ann', password: 'one' },
  { name: 'ann-session', password: 'two' },
  { name: 'bob', password: 'p:with:colons' },
])

describe('a user', () => {
  it.each([
    ['ann', 'one', { user: 'ann', context: {} }],
    ['ann-session-abc', 'one', undefined],
    ['ann-region-us', 'one', { user: 'ann', context: { region: 'us' } }],
    ['bob', 'p:with:colons', { user: 'bob', context: {} }],
    ['bob-session-abc', 'p:with:colons', { user: 'bob', context: { session: 'abc' } }],
    [
      'bob-region-us-east-session-a-b',
      'p:with:colons',
      { user: 'bob', context: { region: 'us-east', session: 'a-b' } },
    ],
    ['bob-session-', 'p:with:colons', undefined],
    ['bob-colour-red', 'p:with:colons', undefined],
    ['bobby', 'p:with:colons', undefined],
    ['bob', 'wrong', undefined],
    ['bob', '', undefined],
    ['', '', undefined],
    ['nobody', '', undefined],
  ])('%s with %s', (name, password, caller) => {
    expect(users.authenticate(basic(name, password))).toEqual(caller)
  })

  it('whose name begins like another one is the longer', () => {
    expect(users.authenticate(basic('ann-session', 'two'))).toEqual({ user: 'ann-session', context: {} })
    expect(users.authenticate(basic('ann-session-region-eu', 'two'))?.context).toEqual({ region: 'eu' })
  })

  it.each([undefined, '', 'Basic', 'Basic !!!', 'Bearer abc', 'Basic YWJj'])(
    'is nobody with %s',
    (header) => {
      expect(users.authenticate(header)).toBeUndefined()
    },
  )
})

describe('without users', () => {
  const open = new UserDirectory([])
  it('everybody is let in, and parameters are read', () => {
    expect(open.authenticate(undefined)).toEqual({ user: undefined, context: {} })
    expect(open.authenticate(basic('any-session-7-region-eu', 'x'))?.context).toEqual({
      session: '7',
      region: 'eu',
    })
    expect(open.authenticate(basic('any', 'x'))?.context).toEqual({})
    expect(open.authenticate('nonsense')?.context).toEqual({})
  })
})
