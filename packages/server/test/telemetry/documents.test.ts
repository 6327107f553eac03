import { readdirSync, readFileSync } from 'node:fs'
import { METRICS } from '@holdfast/runtime/internal'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const docs = (path: string) => new URL(`../../../../docs/${path}`, import.meta.url)
const read = (path: string) => readFileSync(docs(path), 'utf8')

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; description: string }
}

interface Panel {
  id: number
  title: string
  targets: { expr: string; legendFormat: string }[]
  gridPos: { x: number; y: number; w: number; h: number }
}

const rules = readdirSync(docs('alerts')).flatMap((file) =>
  (parse(read(`alerts/${file}`)) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules),
)
const panels = readdirSync(docs('grafana')).flatMap(
  (file) => (JSON.parse(read(`grafana/${file}`)) as { panels: Panel[] }).panels,
)

/** What a name in an expression may be: a metric, or a part of a histogram. */
const SERIES = new Map<string, readonly string[]>(
  Object.entries(METRICS).flatMap(([name, { type, labels }]): [string, readonly string[]][] =>
    type === 'histogram'
      ? [
          [`${name}_bucket`, [...labels, 'le']],
          [`${name}_sum`, labels],
          [`${name}_count`, labels],
        ]
      : [[name, labels]],
  ),
)

/** The metrics of an expression, each with the labels that it is chosen by. */
function metricsIn(expr: string): { name: string; labels: string[] }[] {
  return [...expr.matchAll(/(holdfast_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', chosen = '']) => ({
    name,
    labels: [...chosen.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }))
}

/** The labels by which an expression groups, and those that a legend or a sentence shows. */
const grouped = (expr: string): string[] =>
  [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  )
const spoken = (text: string): string[] =>
  [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, name = '']) => name)

function check(expr: string, words: string): void {
  const found = metricsIn(expr)
  expect(found.length, expr).toBeGreaterThan(0)
  for (const { name, labels } of found) {
    const known = SERIES.get(name)
    expect(known, `${name} in ${expr}`).toBeDefined()
    for (const label of [...labels, ...grouped(expr)]) expect(known, `${label} of ${name}`).toContain(label)
  }
  const left = /\bby \(/.test(expr) ? grouped(expr) : found.flatMap(({ name }) => SERIES.get(name) ?? [])
  for (const label of spoken(words)) expect(left, `${label} in ${words}`).toContain(label)
}

describe('alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s uses only existing metrics', (_, rule) => {
    check(rule.expr, `${rule.annotations.summary} ${rule.annotations.description}`)
    expect(['warning', 'critical']).toContain(rule.labels.severity)
  })

  it('exist for breakers, dead letters, budgets and rejected files', () => {
    const names = rules.map(({ alert }) => alert)
    for (const name of ['PoolOpen', 'DeadLettersGrowing', 'RetryBudgetSpent', 'ConfigRejected'])
      expect(names).toContain(`Holdfast${name}`)
  })
})

describe('the Grafana dashboard', () => {
  it.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s uses only existing metrics',
    (_, panel) => {
      for (const { expr, legendFormat } of panel.targets) check(expr, legendFormat)
    },
  )

  it('shows every metric', () => {
    const shown = new Set(
      panels
        .flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)))
        .map(({ name }) => name.replace(/_bucket$/, '')),
    )
    expect([...shown].toSorted()).toEqual(Object.keys(METRICS).toSorted())
  })

  it('has panels that do not overlap', () => {
    const taken = new Set<string>()
    for (const { title, gridPos } of panels)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(x, title).toBeLessThan(24)
          expect(taken.has(`${x},${y}`), title).toBe(false)
          taken.add(`${x},${y}`)
        }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })
})

describe('the reference of metrics', () => {
  it('has every metric with its labels', () => {
    const page = read('reference/metrics.md')
    for (const [name, { type, labels }] of Object.entries(METRICS)) {
      const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\``))
      expect(row, name).toBeDefined()
      for (const word of [type, ...labels.map((label) => `\`${label}\``)]) expect(row).toContain(word)
    }
  })
})
