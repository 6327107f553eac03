import { describe, expect, it } from 'vitest'
import { UserDirectory } from '../src/server/users.js'
import { basic } from './helpers/clients.js'

const users = new UserDirectory([
  { name: 'ann', password: 'one' },
  { name: 'ann-session', password: 'two' },
  { name: 'bob', password: 'p:with:colons' },
])

describe('UserDirectory with users', () => {
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
    ['unknown', '', undefined],
  ])('authenticates %s with the password %s as %j', (name, password, caller) => {
    expect(users.authenticate(basic(name, password))).toEqual(caller)
  })

  it('prefers the longest name that matches', () => {
    expect(users.authenticate(basic('ann-session', 'two'))).toEqual({ user: 'ann-session', context: {} })
    expect(users.authenticate(basic('ann-session-region-eu', 'two'))?.context).toEqual({ region: 'eu' })
  })

  it.each([undefined, '', 'Basic', 'Basic !!!', 'Bearer abc', 'Basic YWJj'])(
    'rejects the header %s',
    (header) => {
      expect(users.authenticate(header)).toBeUndefined()
    },
  )
})

describe('UserDirectory without users', () => {
  const open = new UserDirectory([])
  it('admits every client, and parses the parameters of its name', () => {
    expect(open.authenticate(undefined)).toEqual({ user: undefined, context: {} })
    expect(open.authenticate(basic('any-session-7-region-eu', 'x'))?.context).toEqual({
      session: '7',
      region: 'eu',
    })
    expect(open.authenticate(basic('any', 'x'))?.context).toEqual({})
    expect(open.authenticate('nonsense')?.context).toEqual({})
  })
})
