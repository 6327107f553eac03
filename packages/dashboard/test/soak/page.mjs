// Measures how fast the page loads, then sends it fifty events a second for ten minutes, or MINUTES: its memory must not grow.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from 'holdfast/internal'
import { launch } from '../browser.mjs'
import { openTestServer } from '../test-server.mjs'
import { measure } from './visit.mjs'

const MINUTES = Number(process.env['MINUTES'] ?? 10)
const RATE = 50

/** How often the memory of the page is measured. The first sample is taken before the page has warmed up and is ignored. */
const SAMPLES = 11

/** How much larger the page can be at the end than after it has warmed up, in bytes of heap and nodes of the document. */
const MAX_GROWTH = { bytes: 3_000_000, nodes: 2000 }

const browser = await launch()
for (const line of await measure(browser)) console.log(line)
const server = await openTestServer()
const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
await page.goto(server.url)
await page.locator('.pulse.live').waitFor()
const session = await page.context().newCDPSession(page)
await session.send('Performance.enable')

const takeSample = async () => {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const { metrics } = await session.send('Performance.getMetrics')
  return { bytes: usedSize, nodes: metrics.find(({ name }) => name === 'Nodes')?.value ?? 0 }
}

/** @type {{ bytes: number, nodes: number }[]} */
const samples = []
const startedAt = systemClock.now()
let calls = 0
let seconds = 0
while (seconds < MINUTES * 60) {
  // Each call emits two events: one for its retry and one for its success.
  for (const due = Math.floor((seconds * RATE) / 2); calls < due; calls++) await server.call('gmail_fetch', 1)
  if (seconds >= (samples.length * MINUTES * 60) / SAMPLES) samples.push(await takeSample())
  await sleep(100)
  seconds = (systemClock.now() - startedAt) / 1000
}
samples.push(await takeSample())
const shownEvents = await page.locator('.feed li').count()
await browser.close()
await server.close()

const [, warm = { bytes: 0, nodes: 0 }] = samples
const last = samples.slice(-3)
const growth = {
  bytes: Math.min(...last.map(({ bytes }) => bytes)) - warm.bytes,
  nodes: Math.min(...last.map(({ nodes }) => nodes)) - warm.nodes,
}
console.log(
  [
    `page: ${calls * 2} events in ${Math.round(seconds)} s (${((calls * 2) / seconds).toFixed(1)} a second), ${shownEvents} shown`,
    `heap, MB: ${samples.map(({ bytes }) => (bytes / 1e6).toFixed(1)).join(' ')}`,
    `nodes: ${samples.map(({ nodes }) => nodes).join(' ')}`,
  ].join('\n'),
)
if (growth.bytes > MAX_GROWTH.bytes || growth.nodes > MAX_GROWTH.nodes || shownEvents === 0) {
  console.error(`the page grew by ${(growth.bytes / 1e6).toFixed(1)} MB and ${growth.nodes} nodes`)
  process.exit(1)
}
