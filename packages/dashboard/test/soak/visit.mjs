// Measures how fast the page is: a first visit with an empty cache, and scrolling through 10,000 breakers. The times are those of the
// browser, over loopback. Run it alone with `node packages/dashboard/test/soak/visit.mjs`, or as a part of `npm run test:memory`.
import { launch } from '../browser.mjs'
import { openTestServer } from '../test-server.mjs'

/** @typedef {import('playwright-core').Browser} Browser */

const VISITS = 9
const BREAKERS = 10_000

/** Runs in the page before its own scripts: marks when the numbers are shown, and records long tasks and layout shifts. */
function observePage() {
  const seen = { long: /** @type {{ end: number, length: number }[]} */ ([]), shift: 0 }
  Object.assign(globalThis, { seen })
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      seen.long.push({ end: startTime + duration, length: duration })
  }).observe({ type: 'longtask', buffered: true })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      seen.shift += /** @type {{ value?: number }} */ (/** @type {unknown} */ (entry)).value ?? 0
  }).observe({ type: 'layout-shift', buffered: true })
  new MutationObserver((_, observer) => {
    if (document.querySelector('.tiles:not(.blank)') === null) return
    performance.mark('filled')
    observer.disconnect()
  }).observe(document, { childList: true, subtree: true, attributes: true })
}

/** Returns the measurements of a visit, in milliseconds and bytes. */
function readMeasurements() {
  const { seen } = /** @type {{ seen: { long: { end: number }[], shift: number } }} */ (
    /** @type {unknown} */ (globalThis)
  )
  const [visit] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'))
  const files = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType('resource')).filter(
    ({ name }) => !name.includes('/api/'),
  )
  const filled = performance.getEntriesByName('filled')[0]?.startTime ?? Number.NaN
  const painted = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0
  // The page is interactive when its script has run, its first content is painted and no long task is running.
  const busy = seen.long.filter(({ end }) => end <= filled).map(({ end }) => end)
  return {
    interactive: Math.max(visit?.domContentLoadedEventEnd ?? Number.NaN, painted, ...busy),
    filled,
    bytes: [...files, ...(visit === undefined ? [] : [visit])].reduce(
      (sum, file) => sum + file.encodedBodySize,
      0,
    ),
    shift: seen.shift,
  }
}

/** Scrolls down by a number of pixels per frame. Returns the duration of each frame. @param {number} pixels */
async function scroll(pixels) {
  const rows = /** @type {HTMLElement} */ (document.querySelector('.rows'))
  const { seen } = /** @type {{ seen: { long: { length: number }[] } }} */ (
    /** @type {unknown} */ (globalThis)
  )
  rows.scrollTop = 0
  let before = await new Promise((resolve) => requestAnimationFrame(resolve))
  seen.long.length = 0
  const frames = /** @type {number[]} */ ([])
  for (let step = 0; step < 120; step++) {
    rows.scrollTop += pixels
    const at = await new Promise((resolve) => requestAnimationFrame(resolve))
    frames.push(at - before)
    before = at
  }
  return { frames, long: seen.long.map(({ length }) => length) }
}

/** @param {number[]} values @param {number} share */
const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN

/** @param {Browser} browser */
async function firstVisits(browser) {
  const server = await openTestServer({ past: true })
  const visits = []
  try {
    for (let n = 0; n < VISITS; n++) {
      const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 900 } })
      const page = await context.newPage()
      await page.addInitScript(observePage)
      await page.goto(server.url)
      await page.locator('.tiles:not(.blank)').waitFor()
      await page.locator('.chart canvas').first().waitFor()
      visits.push(await page.evaluate(readMeasurements))
      await context.close()
    }
  } finally {
    await server.close()
  }
  return visits
}

/** @param {Browser} browser */
async function scrollMany(browser) {
  const server = await openTestServer({ breakers: BREAKERS, quiet: true })
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 1280, height: 900 } })
  try {
    const page = await context.newPage()
    await page.addInitScript(observePage)
    await page.goto(`${server.url}/breakers`)
    await page.getByRole('region', { name: /^10,\d+ breakers$/ }).waitFor()
    await page.locator('.pulse.live').waitFor()
    // Once in the steps of a mouse wheel, and once from the top to the bottom, as by dragging the scroll bar.
    return [
      { how: 'with the wheel', ...(await page.evaluate(scroll, 120)) },
      { how: 'with the scroll bar', ...(await page.evaluate(scroll, (BREAKERS * 46) / 120)) },
    ]
  } finally {
    await context.close()
    await server.close()
  }
}

/** Measures both. Returns the lines of a report. @param {Browser} browser */
export async function measure(browser) {
  const visits = await firstVisits(browser)
  const scrolls = await scrollMany(browser)
  const of = (/** @type {'interactive' | 'filled'} */ key) => {
    const values = visits.map((visit) => visit[key])
    return `${Math.round(quantile(values, 0.5))} ms (min ${Math.round(Math.min(...values))}, max ${Math.round(Math.max(...values))})`
  }
  const [{ bytes, shift } = { bytes: 0, shift: 0 }] = visits
  return [
    `first visit, median of ${VISITS}: interactive after ${of('interactive')}, numbers shown after ${of('filled')}`,
    `first visit: ${(bytes / 1000).toFixed(1)} kB over the wire, layout shift ${shift.toFixed(3)}`,
    ...scrolls.map(
      ({ how, frames, long }) =>
        `10,000 breakers scrolled ${how}: a frame in ${quantile(frames, 0.5).toFixed(1)} ms, 95 % within ${quantile(frames, 0.95).toFixed(1)} ms; tasks above 50 ms in ${frames.length} frames: ${long.length}`,
    ),
  ]
}

if (process.argv[1]?.endsWith('visit.mjs')) {
  const browser = await launch()
  try {
    for (const line of await measure(browser)) console.log(line)
  } finally {
    await browser.close()
  }
}
