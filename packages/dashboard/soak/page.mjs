// How quick the page is; then fifty events a second for ten minutes (MINUTES changes that): the memory of the page must stay flat.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from 'holdfast/internal'
import { launch } from '../test/browser.mjs'
import { openTestServer } from '../test/test-server.mjs'
import { measure } from './visit.mjs'

const MINUTES = Number(process.env['MINUTES'] ?? 10)
const RATE = 50

/** How often the page is measured. The first time is its warming up, and does not count. */
const LOOKS = 11

/** What the page may hold more of at the end than when it was warm, in bytes, and in nodes of the document. */
const GROWTH = { bytes: 3_000_000, nodes: 2000 }

const browser = await launch()
for (const line of await measure(browser)) console.log(line)
const house = await openTestServer()
const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
await page.goto(house.url)
await page.locator('.pulse.live').waitFor()
const session = await page.context().newCDPSession(page)
await session.send('Performance.enable')

const look = async () => {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const { metrics } = await session.send('Performance.getMetrics')
  return { bytes: usedSize, nodes: metrics.find(({ name }) => name === 'Nodes')?.value ?? 0 }
}

/** @type {{ bytes: number, nodes: number }[]} */
const looks = []
const begun = systemClock.now()
let calls = 0
let seconds = 0
while (seconds < MINUTES * 60) {
  // Each of these calls makes an event for its retry, and one for its success.
  for (const due = Math.floor((seconds * RATE) / 2); calls < due; calls++) await house.call('gmail_fetch', 1)
  if (seconds >= (looks.length * MINUTES * 60) / LOOKS) looks.push(await look())
  await sleep(100)
  seconds = (systemClock.now() - begun) / 1000
}
looks.push(await look())
const shown = await page.locator('.feed li').count()
await browser.close()
await house.close()

const [, warm = { bytes: 0, nodes: 0 }] = looks
const last = looks.slice(-3)
const growth = {
  bytes: Math.min(...last.map(({ bytes }) => bytes)) - warm.bytes,
  nodes: Math.min(...last.map(({ nodes }) => nodes)) - warm.nodes,
}
console.log(
  [
    `page: ${calls * 2} events in ${Math.round(seconds)} s (${((calls * 2) / seconds).toFixed(1)} a second), ${shown} shown`,
    `heap, MB: ${looks.map(({ bytes }) => (bytes / 1e6).toFixed(1)).join(' ')}`,
    `nodes: ${looks.map(({ nodes }) => nodes).join(' ')}`,
  ].join('\n'),
)
if (growth.bytes > GROWTH.bytes || growth.nodes > GROWTH.nodes || shown === 0) {
  console.error(`the page grew by ${(growth.bytes / 1e6).toFixed(1)} MB and ${growth.nodes} nodes`)
  process.exit(1)
}
