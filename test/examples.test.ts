import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { root } from '../scripts/packages.mjs'
import { findRedis } from '../scripts/servers/redis.mjs'

// Whole programs with servers and processes, beside all other tests.
vi.setConfig({ testTimeout: 240_000 })

const run = promisify(execFile)
const example = async (name: string, ...args: string[]) =>
  (await run(process.execPath, ['scripts/example.mjs', name, ...args], { cwd: root })).stdout

it('scraper-consolidation: every mapping of one file, which is edited while it runs', async () => {
  const out = await example('scraper-consolidation')
  const lines = out.split('\n').filter((line) => /^ {2}(browser|navigation|telemetry)\./.test(line))
  expect(lines).toHaveLength(12)
  expect(lines.map((line) => line.trim().split(/\s+/)[2])).toEqual([
    'browser_state_timeout',
    'browser_network_error',
    'browser_disk_full',
    'browser_monitoring_timeout',
    'browser_access_denied',
    'browser_psutil_error',
    'browser_session_default',
    'navigation_retry_with_delay',
    'telemetry_error_handling',
    'telemetry_batch_processing',
    'telemetry_alerting_notification',
    'telemetry_simple_retries',
  ])
  expect(out).toMatch(/"max_attempts": 2,\n {2}"delay": (0\.9|1)/)
  expect(out).toContain('"by_subsystem"')
})

it('proxy-rotator: bad proxies are set aside, and stay so when the process that serves is killed', async () => {
  const out = await example('proxy-rotator')
  expect(out).not.toContain('FAIL')
  expect(out.match(/^ {2}ok /gm)).toHaveLength(20)
  expect(out).toMatch(/100 of 100 are answered 503, Retry-After (1[0-2]\d|[1-9]\d?)\b/)
  expect(out).toMatch(/^ {2}banned-010 +\d+ +0 +\d+ +0\.\d{4} +1$/m)
  expect(out).toMatch(/"data_points": \[\n {4}\{\n {6}"timestamp": "[\d-]+T\d\d:00:00\.000Z"/)
  expect(out).toContain('480 requests: 480 × 200; 0 attempts arrived at bad proxies')
})

it('llm-failover: three providers that fail in turn, and a cheaper one', async () => {
  const out = await example('llm-failover')
  expect(out).not.toContain('NO ')
  expect(out.match(/^ {2}yes /gm)).toHaveLength(8)
})

const redis = await findRedis(root)
if (typeof redis === 'string') console.warn(`the example of a fleet is SKIPPED: ${redis}`)

it.skipIf(typeof redis === 'string')(
  'fleet: one node, the target, Redis, a process and PostgreSQL break in turn, and every order is held',
  async () => {
    const out = await example('fleet')
    expect(out).not.toContain('FAIL')
    expect(out.match(/^ {2}ok /gm)).toHaveLength(22)
    expect(out).toMatch(/the dashboard is at http:\/\/127\.0\.0\.1:\d+/)
    expect(out).toMatch(/\d+ orders were taken; [1-9]\d* of them came by way of a dead letter/)
  },
  180_000,
)
