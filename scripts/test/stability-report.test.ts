import { expect, it } from 'vitest'
import { describeSeries } from '../report/stability-table.mjs'
import type { Run, Series } from '../stability/series.mjs'

const run = (start: string, failures: string[] = []): Run => ({
  run: 1,
  start,
  machine: '2 cores',
  seconds: 605,
  passed: 11_000,
  failed: failures.length,
  skipped: 4,
  failures,
})
const createSeries = (runs: Run[], setting: Partial<Series> = {}): Series => ({
  version: 1,
  commit: '0123456789abcdef',
  command: 'npm test',
  busy: 2,
  runs,
  ...setting,
})

it('describes the runs of a series as a table', () => {
  expect(describeSeries([createSeries([run('2026-11-19T05:00:00.000Z')])])).toBe(
    `1 run of \`npm test\` at commit 0123456789ab, beside 2 busy processes. All passed. Machine: 2 cores.

| start (UTC) | duration | passed | failed | skipped |
|---|---|---|---|---|
| 2026-11-19 05:00 | 10 min  5 s | 11,000 | 0 | 4 |`,
  )
})

it('orders the runs of several series by their starts', () => {
  const early = createSeries([run('2026-11-19T05:00:00.000Z'), run('2026-11-19T05:20:00.000Z')], { busy: 0 })
  const late = createSeries([run('2026-11-19T05:09:00.000Z')], { busy: 0 })
  const text = describeSeries([early, late])
  expect(text).toContain(
    '3 runs of `npm test` at commit 0123456789ab, in 2 clones at the same time. All passed.',
  )
  expect(text.match(/05:\d\d/g)).toEqual(['05:00', '05:09', '05:20'])
})

it('names the failed tests with the number of their failures', () => {
  const failing = ['2026-11-19T05:00:00.000Z', '2026-11-19T05:20:00.000Z'].map((start) =>
    run(start, ['a > b']),
  )
  const text = describeSeries([createSeries([...failing, run('2026-11-19T05:40:00.000Z')])])
  expect(text).toContain('beside 2 busy processes. 2 failed.')
  expect(text).toContain('\n- 2 × a > b')
})

it('rejects series that are not one measurement', () => {
  const series = createSeries([run('2026-11-19T05:00:00.000Z')])
  const later = createSeries([run('2026-11-19T06:00:00.000Z')])
  expect(() => describeSeries([series, { ...series, commit: 'b' }])).toThrow(
    'expected series of one commit, got 0123456789abcdef and b',
  )
  expect(() => describeSeries([series, { ...series, command: 'vitest run' }])).toThrow(
    'expected series of one command, got npm test and vitest run',
  )
  expect(() => describeSeries([series, later])).toThrow('expected series that ran at the same time')
  expect(() => describeSeries([series, series])).toThrow('expected different series, got a run twice')
  expect(() => describeSeries([{ ...series, runs: [] }])).toThrow('expected at least one run of each series')
})
