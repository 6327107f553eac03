import { describe, expect, it } from 'vitest'
import { migrateConfig } from '../../src/index.js'

const migrated = (given: Parameters<typeof migrateConfig>[0]) => {
  const { text, report } = migrateConfig(given)
  return {
    text,
    ok: report.integrity.ok,
    said: report.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'),
  }
}

describe('the migration of settings', () => {
  it.each([
    'version: "1.0.0"\npolicies: { a: &x { b: *x } }\n',
    'version: "1.0.0"\npolicies: &p { a: {}, b: *p }\n',
    'version: "1.0.0"\nother: &o [*o]\n',
    'a: &x\n  retries: 3\n  inner: *x\n',
    'a: &x\n  inner: *x\n',
  ])('rejects circular aliases: %j', (text) => {
    expect(migrated(text)).toMatchObject({ ok: false, said: expect.stringContaining('circular') })
  })

  it('rejects circular objects and functions', () => {
    const circle: Record<string, unknown> = { retries: 3 }
    circle.own = circle
    expect(migrated({ browser: circle })).toMatchObject({
      ok: false,
      said: expect.stringContaining('circular'),
    })
    const own = { version: '1.0.0', policies: { a: { max_attempts: 2 } }, other: { f: () => 1 } }
    expect(migrated(own)).toMatchObject({ ok: false, said: expect.stringContaining('a function') })
  })

  it('accepts aliases that are not circular', () => {
    const { ok, text } = migrated('base: &b { retries: 3 }\nsave: *b\nload: *b\n')
    expect(ok).toBe(true)
    expect(text.match(/max_attempts: 4/g)).toHaveLength(3)
  })

  it.each(['"2.0.0"', '"3.1"', '2', '0.9', '"latest"', '[1]'])(
    'rejects an unsupported version: %s',
    (version) => {
      const { ok, said, text } = migrated(`version: ${version}\npolicies: { a: { max_attempts: 4 } }\n`)
      expect(ok).toBe(false)
      expect(said).toMatch(/^version: expected 1\.0\.x, 1\.1\.x or 1\.2\.x, got /)
      expect(text).not.toContain('max_attempts')
    },
  )

  it('reads a newer minor version, and reports it', () => {
    const { ok, said } = migrated('version: "1.9.0"\npolicies: { a: { max_attempts: 4 } }\n')
    expect(ok).toBe(true)
    expect(said).toBe('version: expected 1.2 or older, got "1.9.0"; it was read as 1.2.0')
  })

  it.each(['1', '1.0', '"1.0"', '"1.0.3"', '"1.1.0"'])('reads version %s', (version) => {
    expect(migrated(`version: ${version}\npolicies: { a: { max_attempts: 4 } }\n`)).toMatchObject({
      ok: true,
      said: '',
    })
  })

  it('rejects a negative number of retries, except for -1', () => {
    expect(migrated('retries: -3\n')).toMatchObject({
      ok: false,
      said: expect.stringContaining('or -1 for no limit, got -3'),
    })
    expect(migrated('retries: -1\n')).toMatchObject({ ok: true, said: 'retries: -1 was read as no limit' })
    expect(migrated('retries: 0\n')).toMatchObject({ ok: true, said: '' })
  })
})
