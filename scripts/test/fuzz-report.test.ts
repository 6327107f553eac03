import { describe, expect, it } from 'vitest'
import { type FuzzResult, updateFuzzSection } from '../report/fuzz-table.mjs'

const SECTION = `
The old sentence.

| target | property | cases | date | command |
|---|---|---|---|---|
| [config](../a.ts) | a config or problems | 1,011 | 2026-11-17 | \`npm run test:fuzz -- --seed 1\` |
| [sse](../b.ts) | an event is read unchanged | 60,001 | 2026-11-17 | \`npm run test:fuzz -- --seed 2\` |
`
const NAMES = ['sse', 'config']

const update = (runs: Record<string, FuzzResult>, names = NAMES) =>
  updateFuzzSection(SECTION, names, new Map(Object.entries(runs)))

describe('the table of the fuzz runs', () => {
  it('gets the runs that are saved, keeps the others, and adds up the cases', () => {
    const run = { date: '2026-11-18', command: 'npm run test:fuzz -- --seed 9', cases: 62_500, seed: 9 }
    expect(update({ config: run })).toBe(
      `The last runs of the 2 targets, from 2026-11-17 to 2026-11-18, had 122,501 cases. None of them failed.

| target | property | cases | date | command |
|---|---|---|---|---|
| [config](../a.ts) | a config or problems | 62,500 | 2026-11-18 | \`npm run test:fuzz -- --seed 9\` |
| [sse](../b.ts) | an event is read unchanged | 60,001 | 2026-11-17 | \`npm run test:fuzz -- --seed 2\` |`,
    )
  })

  it('is not changed by a second report', () => {
    const section = update({})
    expect(updateFuzzSection(section, NAMES, new Map())).toBe(section)
    expect(section).toContain('targets, on 2026-11-17, had 61,012 cases.')
  })

  it('names the targets whose last run failed', () => {
    const run = { date: '2026-11-17', command: 'x', cases: 5, failure: 'Error: no property holds' }
    expect(update({ sse: run })).toContain('Targets with a failed case: sse.')
  })

  it('names a target with a failed case until a later run of it passes', () => {
    const run = { date: '2026-11-17', command: 'x', cases: 5 }
    const section = update({ sse: { ...run, failure: 'Error: no property holds' } })
    expect(updateFuzzSection(section, NAMES, new Map([['config', run]]))).toContain('case: sse.')
    expect(updateFuzzSection(section, NAMES, new Map([['sse', run]]))).toContain('None of them failed.')
  })

  it('is rejected if a target has no row, or a row no target', () => {
    expect(() => update({}, ['sse', 'config', 'new'])).toThrow('differences: new')
    expect(() => update({}, ['sse'])).toThrow('differences: config')
  })
})
