import { describe, expect, test } from 'vitest'
import { createToken, listTokens, revokeToken } from '../../src/auth/tokens.js'
import { open } from '../fixture.js'

describe('tokens', () => {
  test('are returned once, stored as a hash and listed without it', async () => {
    const { hf } = await open()
    const { values } = hf.store
    const now = new Date('2026-01-29T12:00:00Z')
    const { token, ...info } = await createToken(hf, { name: 'ann', role: 'operator', now })
    expect(token).toMatch(/^hft_[\w-]{43}$/)
    expect(info).toEqual({ name: 'ann', role: 'operator', createdAt: now })
    expect(await listTokens(hf)).toEqual([{ name: 'ann', role: 'operator', createdAt: now }])
    const kept = JSON.stringify(await values.list(''))
    expect(kept).toContain('sha256')
    expect(kept).not.toContain(token)
    expect(kept).not.toContain(token.slice(4))
  })

  test('are unique', async () => {
    const { hf } = await open()
    const made = await Promise.all(['a', 'b', 'c'].map((name) => createToken(hf, { name, role: 'viewer' })))
    expect(new Set(made.map(({ token }) => token)).size).toBe(3)
  })

  test.each([
    [{ name: '', role: 'viewer' }, 'name'],
    [{ name: 'a b', role: 'viewer' }, 'name'],
    [{ name: 'x'.repeat(65), role: 'viewer' }, 'name'],
    [{ name: 'ann', role: 'root' }, 'role'],
    [{ name: '../x', role: 'root' }, 'name: .*; role'],
  ])('are rejected for the body %j', async (options, problem) => {
    const { hf } = await open()
    const error = await createToken(hf, options as never).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(problem) })
    expect(await listTokens(hf)).toEqual([])
  })

  test('have unique names until they are revoked', async () => {
    const { hf } = await open()
    const first = await createToken(hf, { name: 'ann', role: 'viewer' })
    await expect(createToken(hf, { name: 'ann', role: 'admin' })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    expect(await revokeToken(hf, 'ann')).toBe(true)
    expect(await revokeToken(hf, 'ann')).toBe(false)
    const second = await createToken(hf, { name: 'ann', role: 'admin' })
    expect(second.token).not.toBe(first.token)
  })

  test('are audited when they are created and revoked, without their secret', async () => {
    const { hf } = await open()
    const { token } = await createToken(hf, { name: 'ann', role: 'operator', by: 'root', reason: 'new here' })
    await revokeToken(hf, 'ann', { by: 'root' })
    await revokeToken(hf, 'unknown', { by: 'root' })
    const { items } = await hf.audit.list()
    expect(items).toMatchObject([
      { action: 'token.revoke', target: 'ann', actor: 'root', before: { role: 'operator' } },
      {
        action: 'token.create',
        target: 'ann',
        actor: 'root',
        reason: 'new here',
        after: { role: 'operator' },
      },
    ])
    expect(JSON.stringify(items)).not.toContain(token.slice(4))
  })
})
