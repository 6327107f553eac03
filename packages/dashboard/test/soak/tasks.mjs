// Measures the longest tasks of the page with 10,000 breakers in processor time, so that other work on the machine does not count: while
// the page loads, scrolls and receives changes of state. Run it with `node packages/dashboard/test/soak/tasks.mjs` after a build.
import { launch } from '../browser.mjs'
import { openTestServer } from '../test-server.mjs'

const BREAKERS = 10_000
const CHANGES = 200
const MAX_TASK_MS = 50

/** @typedef {{ name: string, ph: string, tid: number, pid: number, dur?: number, tdur?: number, args?: { name?: string } }} TraceEvent */

const server = await openTestServer({ breakers: BREAKERS, quiet: true })
const browser = await launch()
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
const session = await browser.newBrowserCDPSession()

/** @type {TraceEvent[]} */
let events = []
session.on('Tracing.dataCollected', ({ value }) => {
  for (const event of value) events.push(/** @type {TraceEvent} */ (/** @type {unknown} */ (event)))
})

/** Records the tasks of the main threads while `work` runs. @param {string} name @param {() => Promise<unknown>} work */
async function measure(name, work) {
  events = []
  await session.send('Tracing.start', {
    traceConfig: { includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline'] },
  })
  await work()
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.end')
  await ended
  const mains = new Set(
    events.flatMap(({ name: type, args, pid, tid }) =>
      type === 'thread_name' && args?.name === 'CrRendererMain' ? [`${pid} ${tid}`] : [],
    ),
  )
  const tasks = events.filter(
    ({ name: type, pid, tid }) => type.endsWith('RunTask') && mains.has(`${pid} ${tid}`),
  )
  const longest = Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur / 1000))
  console.log(`${name}: ${tasks.length} tasks, the longest took ${longest.toFixed(1)} ms of processor time`)
  return longest
}

// The renderer process is started before, because its start is not a task of the page.
await page.goto(`${server.url}/icon.svg`)
const list = page.getByRole('region', { name: /^10,\d+ breakers$/ })
const results = [
  await measure('load', async () => {
    await page.goto(`${server.url}/breakers`)
    await list.waitFor()
    await page.locator('.pulse.live').waitFor()
  }),
  await measure('scroll', () =>
    list.evaluate(async (element) => {
      for (let step = 0; step < 120; step++) {
        element.scrollTop += element.scrollHeight / 120
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }
    }),
  ),
  await measure('changes of state', async () => {
    for (let n = 0; n < CHANGES; n++)
      await server.hf.breakers.trip(`pool:crowd:m${String(n).padStart(5, '0')}`, { by: 'measurement' })
    await page.getByRole('button', { name: `open ${CHANGES}`, exact: true }).waitFor()
  }),
]
await browser.close()
await server.close()
if (Math.max(...results) > MAX_TASK_MS) process.exitCode = 1
