// `npm run record`: pictures of each view of the dashboard in both themes, for the documents.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createToken } from '@holdfast/server'
import { launch } from '../packages/dashboard/test/browser.mjs'
import { openTestServer } from '../packages/dashboard/test/test-server.mjs'
import { root } from './packages.mjs'

const folder = join(root, 'docs/screenshots')

/** The name of each picture, where it is taken, and what must be there by then. */
const VIEWS = /** @type {const} */ ([
  ['overview', '/', 'Success by attempt'],
  ['operations', '/operations', 'gmail_fetch'],
  ['operation', '/operations?id=notion_write', 'Recent failed sessions'],
  ['breakers', '/breakers', 'service:gemini'],
  ['breaker', `/breakers?id=${encodeURIComponent('service:gemini')}`, 'Why it opened'],
  ['pools', '/pools', 'ams-1'],
  ['policies', '/policies', 'gmail_fetch'],
  ['policy', '/policies?id=fetch', 'from the policy in the file'],
  ['sessions', '/sessions', 'Last error'],
  ['session', '', 'Timeline'],
  ['dead-letters', '/dead-letters', 'page-3'],
  ['dead-letter', '', 'Payload'],
  ['errors', '/errors', 'First seen'],
  ['audit', '/audit', 'the provider asked for it'],
  ['nodes', '/nodes', 'this node'],
  ['tokens', '/tokens', 'on-call'],
  ['settings', '/settings?operation=fetch', 'Effective configuration'],
])

const browser = await launch()
mkdirSync(folder, { recursive: true })
const testServer = await openTestServer({ past: true })
const { hf } = testServer
// Members that differ, an operator who did something, and one session with waits long enough to be seen.
for (let n = 0; n < 60; n++)
  await hf
    .run(
      'scrape',
      async ({ number, member }) => {
        const place = ['ams', 'fra', 'lhr', 'iad', 'sfo', 'nrt', 'gru'].indexOf(
          String(member?.id).slice(0, 3),
        )
        await sleep(4 + 6 * place)
        if (number <= (n * 7) % 4)
          throw Object.assign(new Error('the socket was reset'), { code: 'ECONNRESET' })
      },
      { pool: 'proxies' },
    )
    .catch(() => undefined)
await hf.pools.changeMember(
  'proxies',
  'gru-7',
  { enabled: false },
  { by: 'ann', reason: 'the provider moves it' },
)
await hf.policies.put({ id: 'fetch', maxAttempts: 5 }, { by: 'ann', reason: 'the site is slow at night' })
for (const id of ['ams-1', 'fra-2', 'lhr-3', 'iad-4', 'gru-7'])
  await hf.breakers.reset(`pool:proxies:${id}`, { by: 'ops', reason: 'the network is back' })
await hf.breakers.trip('service:postgres', { by: 'ops', reason: 'moving the database' })
await sleep(200)
await hf.breakers.reset('service:postgres', { by: 'ops', reason: 'moved' })
await hf.deadLetters.replayBatch({ operation: 'notion_write', limit: 2, by: 'ann' })
await testServer.call('fetch', 3)
const [session] = (await hf.sessions.list({ operation: 'fetch' })).items
const [letter] = (await hf.deadLetters.list({ operation: 'notion_write', status: 'pending' })).items
const { token } = await createToken(hf, { name: 'ann', role: 'admin', by: 'ops' })
await createToken(hf, { name: 'on-call', role: 'operator', by: 'ann' })
await createToken(hf, { name: 'status-page', role: 'viewer', by: 'ann' })

/** The addresses of views that depend on the records. */
const itemPaths = /** @type {Record<string, string>} */ ({
  session: `/sessions?id=${encodeURIComponent(session?.sessionId ?? '')}`,
  'dead-letter': `/dead-letters?id=${encodeURIComponent(letter?.dlqId ?? '')}`,
})
try {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const context = await browser.newContext({
      locale: 'en-GB',
      colorScheme,
      viewport: { width: 1280, height: 900 },
      extraHTTPHeaders: { authorization: `Bearer ${token}` },
    })
    const page = await context.newPage()
    for (const [name, path, text] of VIEWS) {
      await page.goto(testServer.url + (itemPaths[name] ?? path))
      await page.getByText(text).first().waitFor()
      await page.locator('.pulse.live').waitFor()
      if (name === 'overview')
        for (const part of ['.tiles:not(.blank)', '.chart canvas', '.feed li'])
          await page.locator(part).first().waitFor()
      // The theme is faded in.
      await page.emulateMedia({ reducedMotion: 'reduce' })
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
    }
    await context.close()
  }
  console.log(`${VIEWS.length * 2} pictures in docs/screenshots`)
} finally {
  await browser.close()
  await testServer.close()
}
