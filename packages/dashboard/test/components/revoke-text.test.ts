import { describe, expect, it } from 'vitest'
import { revokeText } from '../../src/pages/tokens/revoke-text.js'

const ann = { name: 'ann', role: 'admin' } as const
const kim = { name: 'kim', role: 'admin' } as const
const bob = { name: 'bob', role: 'viewer' } as const
const signedIn = { name: 'ann', token: true }

describe('the confirmation of a revocation', () => {
  it('names no other effect for one of several tokens', () => {
    const text = 'Requests with the token are rejected at once. This cannot be undone.'
    expect(revokeText(bob, [ann, bob], signedIn)).toBe(text)
    expect(revokeText(kim, [ann, kim], signedIn)).toBe(text)
  })

  it('warns about the own token', () => {
    expect(revokeText(ann, [ann, kim], signedIn)).toBe(
      'This is your own token: you will be signed out. This cannot be undone.',
    )
  })

  it('does not take a token with the name local for the own one of a caller without a token', () => {
    const local = { name: 'local', role: 'viewer' } as const
    expect(revokeText(local, [local, ann], { name: 'local', token: false })).not.toContain('your own')
  })

  it('warns about the last token with the role admin', () => {
    expect(revokeText(ann, [ann, bob], signedIn)).toMatch(/your own token.*last token with the role admin/)
  })

  it('warns about the last token', () => {
    expect(revokeText(ann, [ann], signedIn)).toMatch(/This is the last token: .* as admin/)
    expect(revokeText(bob, [bob], undefined)).toMatch(/This is the last token: /)
  })
})
