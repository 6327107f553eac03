import { readFileSync } from 'node:fs'
import { POLICY_FIELDS, type PolicyField, type PolicyPart } from '@holdfast/records'
import { BACKOFF_TYPES, JITTER_TYPES } from 'holdfast/internal'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
const table = page.slice(page.indexOf('| key of a policy |')).split('\n\n')[0] ?? ''
const rows = table
  .split('\n')
  .slice(2)
  .map((row) => row.split('|').map((cell) => cell.trim()))

/** The default of each key in the table, without backticks. One default applies to all keys of its row. */
const documented = new Map(
  rows.flatMap(([, keys = '', defaults = '']) => {
    const names = [...keys.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    const values = defaults.replaceAll('`', '').split(', ')
    return names.map((name, i) => [name, values.length === names.length ? values[i] : defaults] as const)
  }),
)

const formatDefault = ({ kind, default: value }: PolicyField): string =>
  /duration/i.test(kind) && value !== 0 ? `${(value as number) / 1000} s` : String(value)

describe('the table of policy keys in docs/configuration.md', () => {
  it('lists exactly the fields of a policy', () => {
    expect([...documented.keys()].toSorted()).toEqual(Object.keys(POLICY_FIELDS).toSorted())
  })

  const fields: [string, PolicyField | PolicyPart][] = Object.entries(POLICY_FIELDS)
  it.each(fields.filter(([, field]) => 'default' in field))('has the default of %s', (name, field) => {
    expect(documented.get(name)).toBe(formatDefault(field as PolicyField))
  })

  it.each([...BACKOFF_TYPES, ...JITTER_TYPES])('names the type %s', (type) => {
    expect(table).toContain(`\`${type}\``)
  })
})
