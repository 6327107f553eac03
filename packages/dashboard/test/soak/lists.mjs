// Measures the longest tasks of the pages with long lists: 100,000 sessions and 10,000 dead letters. Run it with
// `node packages/dashboard/test/soak/lists.mjs` after a build, on a quiet machine.
import { systemClock } from 'holdfast/internal'
import { launch } from '../browser.mjs'
import { openTestServer } from '../test-server.mjs'

const SESSIONS = 100_000
const DEAD_LETTERS = 10_000
const BATCH = 5000

const server = await openTestServer()
const { hf } = server
const [session] = (await hf.sessions.list({ operation: 'gmail_fetch', limit: 1 })).items
const [letter] = (await hf.deadLetters.list({ limit: 1 })).items
if (session === undefined || letter === undefined) throw new Error('the test server has no records')
const startedAt = systemClock.wall()

for (let start = 0; start < SESSIONS; start += BATCH)
  await hf.store.sessions.append(
    Array.from({ length: BATCH }, (_, n) => ({
      ...session,
      sessionId: `gmail_fetch_${start + n}`,
      startTime: new Date(startedAt - SESSIONS + start + n),
    })),
  )
for (let start = 0; start < DEAD_LETTERS; start += BATCH)
  await hf.store.deadLetters.add(
    Array.from({ length: BATCH }, (_, n) => ({
      ...letter,
      dlqId: `dlq_${start + n}`,
      idempotencyKey: `key-${start + n}`,
      itemId: `item-${start + n}`,
      originalPayload: { n: start + n, customer: `customer-${n % 50}`, text: 'x'.repeat(200) },
      createdAt: new Date(startedAt - DEAD_LETTERS + start + n),
      lastAttempt: new Date(startedAt),
    })),
    { maxEntries: 1_000_000 },
  )

const browser = await launch()
const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 900 } })
await context.addInitScript(() => {
  const tasks = /** @type {number[]} */ ([])
  Object.assign(globalThis, { tasks })
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(duration)
  }).observe({ type: 'longtask', buffered: true })
})
const page = await context.newPage()

/** Prints the tasks above 50 ms since the last report. @param {string} step */
async function report(step) {
  await page.waitForTimeout(300)
  const tasks = await page.evaluate(() => {
    const { tasks: seen } = /** @type {{ tasks: number[] }} */ (/** @type {unknown} */ (globalThis))
    return seen.splice(0)
  })
  const longest = Math.round(Math.max(0, ...tasks))
  console.log(
    `${step}: ${tasks.length} tasks above 50 ms${tasks.length === 0 ? '' : `, the longest ${longest} ms`}`,
  )
}

/** Loads further pages of a list. @param {number} pages */
async function showMore(pages) {
  for (let n = 2; n <= pages; n++) {
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText(`${n * 50} shown.`).waitFor()
  }
}

await page.goto(`${server.url}/sessions`)
await page.getByText('50 shown.').waitFor()
await report('sessions, first page')
await showMore(10)
await report('sessions, 500 rows')
await page.getByRole('button', { name: /^Duration/ }).click()
await report('sessions, sorted')
await page.locator('tbody a').first().click()
await page.getByText('Timeline').waitFor()
await report('one session')
await page.goto(`${server.url}/dead-letters`)
await page.getByText('50 shown.').waitFor()
await report('dead letters, first page')
await showMore(10)
await report('dead letters, 500 rows')
await page.getByLabel('Select all rows').check()
await report('dead letters, all rows selected')
await page.getByLabel('Select all rows').uncheck()
await page.getByLabel('Search payload').fill('"customer":"customer-7"')
await page.getByLabel('Search payload').press('Enter')
await page.getByRole('button', { name: 'Replay 200 matching' }).waitFor()
await report('dead letters, search')
await Promise.all([
  page.waitForEvent('download'),
  page.getByRole('button', { name: 'Export JSON Lines' }).click(),
])
await report('dead letters, export of the search')
await browser.close()
await server.close()
