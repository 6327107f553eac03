import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, describe } from 'vitest'
import { launch } from './browser.mjs'
import { built, openHouse } from './house.mjs'

type House = Awaited<ReturnType<typeof openHouse>>

const html = join(built, 'index.html')
const parts = existsSync(html) ? [...readFileSync(html, 'utf8').matchAll(/(?:src|href)="([^"]+)"/g)] : []
if (parts.length === 0 || !parts.every(([, file = '']) => existsSync(join(built, file))))
  throw new Error('the dashboard is not built: run npm run build first')

const browser: Browser | undefined = await launch()
const opened: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})
afterAll(async () => {
  await browser?.close()
})

/** Tests that need a browser; left out, loudly, where there is none. */
export const inBrowser = describe.skipIf(browser === undefined)

export interface Tab {
  readonly house: House
  readonly page: Page
  /** What the page complained of: errors of scripts, and what its policy refused. */
  readonly complaints: string[]
  /** Another tab on the same house, which shares nothing with this one. */
  another(path: string, options?: BrowserContextOptions): Promise<Page>
}

/** A house, and a tab that looks at it. */
export async function openTab(
  path: string,
  options: Parameters<typeof openHouse>[0] & { context?: BrowserContextOptions } = {},
): Promise<Tab> {
  const house = await openHouse(options)
  opened.push(() => house.close())
  const complaints: string[] = []
  const another = async (to: string, given: BrowserContextOptions = {}): Promise<Page> => {
    const context = await (browser as Browser).newContext({
      locale: 'en-GB',
      viewport: { width: 1280, height: 900 },
      ...given,
    })
    opened.push(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(message.text())
    })
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (origin !== house.url && protocol !== 'blob:') complaints.push(`it asked ${origin}`)
    })
    await page.goto(house.url + to)
    return page
  }
  return { house, page: await another(path, options.context), complaints, another }
}

/** Confirms the question that is asked, with a reason. */
export async function confirm(page: Page, action: string, reason = ''): Promise<void> {
  const dialog = page.getByRole('dialog')
  if (reason !== '') await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: action, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}
