// A section with a wrong type was left out of the result without a problem, and so was an empty mapping of settings.
import { describe, expect, it } from 'vitest'
import { migrateConfig } from '../../src/migrate/migrate.js'

describe('a migration reports', () => {
  it.each([
    ['policies', { version: '1.0', policies: [{ id: 'a' }] }],
    ['circuit_breakers', { version: '1.0', circuit_breakers: 'none' }],
    ['subsystem_mappings', { version: '1.0', subsystem_mappings: [] }],
    ['subsystem_mappings.mail', { version: '1.0', subsystem_mappings: { mail: 'fast' } }],
    ['subsystem_mappings.mail.send', { version: '1.0', subsystem_mappings: { mail: { send: 'fast' } } }],
  ])('%s of another type', (path, old) => {
    const { report } = migrateConfig(old)
    expect(report.integrity.ok).toBe(false)
    expect(report.problems).toEqual([
      { path, message: expect.stringMatching(/^not valid and ignored, got /) },
    ])
  })

  it('an empty mapping of settings', () => {
    const { report } = migrateConfig([{ file: 'mail.yaml', text: 'send: {}' }])
    expect(report.integrity.ok).toBe(false)
    expect(report.problems).toEqual([
      { file: 'mail.yaml', path: 'mail.send', message: 'expected settings, got an empty mapping' },
    ])
  })
})
