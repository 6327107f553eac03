// Fifty events a second for ten minutes (MINUTES changes that): the memory of the page must stay flat.
import { setTimeout as sleep } from 'node:timers/promises'
import { launch } from '../test/browser.mjs'
import { openHouse } from '../test/house.mjs'

const MINUTES = Number(process.env['MINUTES'] ?? 10)
const RATE = 50

/** What the page may hold more of at the end than after its first tenth, in bytes. */
const GROWTH = 4_000_000

const browser = await launch()
if (browser === undefined) process.exit(1)
const house = await openHouse()
const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
await page.goto(house.url)
await page.locator('.pulse.live').waitFor()
const session = await page.context().newCDPSession(page)

const held = async () => {
  await session.send('HeapProfiler.collectGarbage')
  return (await session.send('Runtime.getHeapUsage')).usedSize
}

/** @type {number[]} */
const sizes = []
const seconds = Math.round(MINUTES * 60)
for (let second = 0; second < seconds; second++) {
  // Each of these calls makes an event for its retry, and one for its success.
  for (let n = 0; n < RATE / 2; n++) await house.call('gmail_fetch', 1)
  await sleep(1000)
  if (second % Math.max(1, Math.floor(seconds / 10)) === 0) sizes.push(await held())
}
const shown = await page.locator('.feed li').count()
await browser.close()
await house.close()
const [, first = 0] = sizes
const growth = Math.max(...sizes.slice(1)) - first
console.log(`page: ${sizes.map((size) => (size / 1e6).toFixed(1)).join(' ')} MB, ${shown} events shown`)
if (growth > GROWTH || shown === 0) {
  console.error(`the page grew by ${(growth / 1e6).toFixed(1)} MB, and may grow by ${GROWTH / 1e6}`)
  process.exit(1)
}
