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
const page = await context.newPage()
/** Tasks longer than this are reported. */
const LONG_MS = 50

/**
 * Runs a step and prints the tasks of the page above 50 ms. The time is that of the processor: on a machine that does other
 * things too, a task waits for it.
 *
 * @param {string} step @param {() => Promise<unknown>} run
 */
async function measureStep(step, run) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] })
  await run()
  await page.waitForTimeout(300)
  /** @type {{ traceEvents: { name: string, pid: number, tid: number, tdur?: number, args: { name?: string } }[] }} */
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString())
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && mainThreads.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000)
  const long = tasks.filter((ms) => ms > LONG_MS)
  console.log(
    `${step}: ${long.length} of ${tasks.length} tasks above ${LONG_MS} ms, the longest ${Math.max(0, ...tasks).toFixed(1)} ms`,
  )
}

/** Loads further pages of a list. @param {number} pages */
async function showMore(pages) {
  for (let n = 2; n <= pages; n++) {
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText(`${n * 50} shown.`).waitFor()
  }
}

await measureStep('sessions, first page', async () => {
  await page.goto(`${server.url}/sessions`)
  await page.getByText('50 shown.').waitFor()
})
await measureStep('sessions, 500 rows', () => showMore(10))
await measureStep('sessions, sorted', () => page.getByRole('button', { name: /^Duration/ }).click())
await measureStep('one session', async () => {
  await page.locator('tbody a').first().click()
  await page.getByText('Timeline').waitFor()
})
await measureStep('dead letters, first page', async () => {
  await page.goto(`${server.url}/dead-letters`)
  await page.getByText('50 shown.').waitFor()
})
await measureStep('dead letters, 500 rows', () => showMore(10))
await measureStep('dead letters, all rows selected', () => page.getByLabel('Select all rows').check())
await page.getByLabel('Select all rows').uncheck()
await measureStep('dead letters, search', async () => {
  await page.getByLabel('Search payload').fill('"customer":"customer-7"')
  await page.getByLabel('Search payload').press('Enter')
  await page.getByRole('button', { name: 'Replay 200 matching' }).waitFor()
})
await measureStep('dead letters, export of all', async () => {
  await page.goto(`${server.url}/dead-letters`)
  await page.getByText('50 shown.').waitFor()
  await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export JSON Lines' }).click(),
  ])
})
await browser.close()
await server.close()
