import { readFileSync } from 'node:fs'
import { Holdfast } from '@holdfast/runtime'
import { fakeClock, seededRandom } from 'holdfast/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { createApp } from '../../src/app/app.js'
import { parse as parseMetrics } from '../telemetry/parser.js'

const FILE = new URL('../../../../docs/alerts/holdfast.yml', import.meta.url)

interface Rule {
  alert: string
  expr: string
  for: string
}

const { groups } = parse(readFileSync(FILE, 'utf8')) as { groups: { rules: Rule[] }[] }

/** A rule of the form `metric OPERATOR number`, held for some minutes, as Prometheus evaluates it. */
function simpleRule(name: string) {
  const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === name) as Rule
  const [, metric = '', operator = '', limit = ''] = /^(\w+) (==|>) ([\d.]+)$/.exec(rule.expr) ?? []
  const holdMs = Number(/^(\d+)m$/.exec(rule.for)?.[1]) * 60_000
  const isTrue = (value: number) => (operator === '==' ? value === Number(limit) : value > Number(limit))
  let since: number | undefined
  return {
    metric,
    /** Whether the alert fires at a time, after all evaluations before it. */
    firesAt(now: number, value: number): boolean {
      if (!isTrue(value)) since = undefined
      else since ??= now
      return since !== undefined && now - since >= holdMs
    },
  }
}

const MINUTE_MS = 60_000
const SCRAPE_EVERY_MS = 15_000

/** Calls a service each second and scrapes every 15 s. `fails` tells whether it is down at a minute; it takes 4 s to fail. */
async function underLoad(minutes: number, fails: (minute: number) => boolean) {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const config = {
    version: '1.1.0',
    policies: { default: { maxAttempts: 1 } },
    circuitBreakers: { api: { failureThreshold: 3, timeoutDuration: 20_000 } },
  }
  const hf = await Holdfast.open({ config, clock, random: seededRandom(1), env: {}, watch: false })
  const app = createApp(hf, { clock, dashboard: false })
  onTestFinished(async () => {
    await app.close()
    await hf.close()
  })
  const rule = simpleRule('HoldfastBreakerOpen')
  const call = (isDown: boolean) =>
    hf.run(
      'fetch',
      () =>
        new Promise((resolve, reject) => {
          clock.setTimer(() => (isDown ? reject(new Error('down')) : resolve('up')), isDown ? 4000 : 10)
        }),
      { service: 'api' },
    )
  const values: number[] = []
  const fired: number[] = []
  for (let now = 0; now <= minutes * MINUTE_MS; now += 1000) {
    call(fails(now / MINUTE_MS)).catch(() => undefined)
    if (now % SCRAPE_EVERY_MS === 0) {
      const { samples } = parseMetrics(await (await app.request('http://localhost/metrics')).text())
      const value = samples.find(
        ({ name, labels }) => name === rule.metric && labels.id === 'service:api',
      )?.value
      values.push(value as number)
      if (rule.firesAt(now, value as number)) fired.push(now / MINUTE_MS)
    }
    await clock.advance(1000)
  }
  return { values, fired }
}

describe('the alert HoldfastBreakerOpen', () => {
  test('fires for a service that stays down under load, though its breaker is half open at some scrapes', async () => {
    const { values, fired } = await underLoad(15, () => true)
    expect(new Set(values.slice(2))).toEqual(new Set([1, 2]))
    expect(fired[0]).toBeGreaterThanOrEqual(10)
    expect(fired.at(-1)).toBe(15)
  })

  test('ends when the service is back, and does not fire for one that was down for five minutes', async () => {
    const { values, fired } = await underLoad(15, (minute) => minute < 5)
    expect(values.at(-1)).toBe(0)
    expect(fired).toEqual([])
  })
})
