// `npm run record`: pictures of each view of the dashboard in both themes, for the documents.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { launch } from '../packages/dashboard/test/browser.mjs'
import { openHouse } from '../packages/dashboard/test/house.mjs'
import { root } from './packages.mjs'

const folder = join(root, 'docs/screenshots')

/** The name of each picture, where it is taken, and what must be there by then. */
const VIEWS = /** @type {const} */ ([
  ['overview', '/', 'Success by attempt'],
  ['breakers', '/breakers', 'service:gemini'],
  ['pools', '/pools', 'ams-1'],
  ['policies', '/policies', 'gmail_fetch'],
  ['policy', '/policies?id=fetch', 'from the policy in the file'],
  ['sessions', '/sessions', 'Last error'],
  ['session', '', 'Timeline'],
  ['dead-letters', '/dead-letters', 'page-1'],
  ['errors', '/errors', 'Context'],
  ['audit', '/audit', 'the provider asked for it'],
  ['nodes', '/nodes', 'this one'],
  ['settings', '/settings?operation=fetch', 'Configuration in force'],
])

const browser = await launch()
if (browser === undefined) process.exit(1)
mkdirSync(folder, { recursive: true })
const house = await openHouse({ past: true })
// One session with waits long enough to be seen.
await house.call('fetch', 3)
const { items } = await house.hf.sessions.list({ operation: 'fetch' })
try {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const context = await browser.newContext({
      locale: 'en-GB',
      colorScheme,
      viewport: { width: 1280, height: 900 },
    })
    const page = await context.newPage()
    for (const [name, path, text] of VIEWS) {
      const to = name === 'session' ? `/sessions?id=${encodeURIComponent(items[0]?.sessionId ?? '')}` : path
      await page.goto(house.url + to)
      await page.getByText(text).first().waitFor()
      await page.locator('.pulse.live').waitFor()
      if (name === 'overview') await page.locator('.chart canvas').waitFor()
      // The theme is faded in.
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
    }
    await context.close()
  }
  console.log(`${VIEWS.length * 2} pictures in docs/screenshots`)
} finally {
  await browser.close()
  await house.close()
}
