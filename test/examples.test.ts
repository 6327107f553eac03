import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { root } from '../scripts/packages.mjs'
import { findRedis } from '../scripts/servers/redis.mjs'

// Complete programs with servers and processes run beside all other tests. The timeout ends programs that hang; it is not a limit
// for their speed.
vi.setConfig({ testTimeout: 900_000 })

const run = promisify(execFile)
const example = async (name: string, ...args: string[]) =>
  (await run(process.execPath, ['scripts/example.mjs', name, ...args], { cwd: root })).stdout

it('scraper-consolidation: applies every mapping of one config file, and a change of the file', async () => {
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

it('proxy-rotator: ejects bad proxies, and keeps them ejected after the server process is killed', async () => {
  const out = await example('proxy-rotator')
  expect(out).not.toContain('FAIL')
  expect(out.match(/^ {2}ok /gm)).toHaveLength(20)
  expect(out).toMatch(/100 of 100 requests are answered 503, Retry-After (1[0-2]\d|[1-9]\d?)\b/)
  expect(out).toMatch(/^ {2}banned-010 +\d+ +0 +\d+ +0\.\d{4} +1$/m)
  expect(out).toMatch(/"data_points": \[\n {4}\{\n {6}"timestamp": "[\d-]+T\d\d:00:00\.000Z"/)
  expect(out).toContain('480 requests: 480 × 200; 0 attempts reached bad proxies')
})

it('llm-failover: fails over between three providers, and to a fallback model', async () => {
  const out = await example('llm-failover')
  expect(out).not.toContain('FAIL')
  expect(out.match(/^ {2}ok /gm)).toHaveLength(8)
})

const redis = await findRedis(root)
if (typeof redis === 'string') console.warn(`the example fleet is SKIPPED: ${redis}`)

it.skipIf(typeof redis === 'string')(
  'fleet: saves every order although a node, the service, Redis and PostgreSQL fail in turn',
  async () => {
    const out = await example('fleet')
    expect(out).not.toContain('FAIL')
    expect(out.match(/^ {2}ok /gm)).toHaveLength(22)
    expect(out).toMatch(/the dashboard is at http:\/\/127\.0\.0\.1:\d+/)
    expect(out).toMatch(/\d+ orders were taken; [1-9]\d* of them were saved by a replay/)
  },
)
