import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, describe } from 'vitest'
import { launch } from './browser.mjs'
import { built, openTestServer } from './test-server.mjs'

export type TestServer = Awaited<ReturnType<typeof openTestServer>>

const html = join(built, 'index.html')
const parts = existsSync(html) ? [...readFileSync(html, 'utf8').matchAll(/(?:src|href)="([^"]+)"/g)] : []
if (parts.length === 0 || !parts.every(([, file = '']) => existsSync(join(built, file))))
  throw new Error('the dashboard is not built: run npm run build first')

const browser: Browser = await launch()
const opened: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})
afterAll(async () => {
  await browser.close()
})

/** Tests that need a browser. Without one the file fails with the reason, because the dashboard would not be tested. */
export const inBrowser = describe

export interface Tab {
  readonly testServer: TestServer
  readonly page: Page
  /** What the page complained of: errors of scripts, answers that failed, what its policy refused, other places it asked. */
  readonly complaints: string[]
  /** Opens another tab on the same server that shares no cookies and no storage with this one. */
  another(path: string, options?: BrowserContextOptions): Promise<Page>
}

interface TabOptions extends NonNullable<Parameters<typeof openTestServer>[0]> {
  /** A server that is already running. */
  testServer?: TestServer
  context?: BrowserContextOptions
  /** Called before the page is loaded. */
  before?: (page: Page) => Promise<unknown>
}

function listen(page: Page, origin: string, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.origin !== origin && asked.protocol !== 'blob:') complaints.push(`it asked ${asked.origin}`)
  })
}

/** Most tests take a page of this one: to start another for each takes longer than the test. Houses have places of their own. */
let usual: Promise<BrowserContext> | undefined

/** Starts a server and opens a tab with its dashboard. */
export async function openTab(path: string, options: TabOptions = {}): Promise<Tab> {
  const testServer = options.testServer ?? (await openTestServer(options))
  if (options.testServer === undefined) opened.push(() => testServer.close())
  const complaints: string[] = []
  const open = async (to: string, given?: BrowserContextOptions): Promise<Page> => {
    const settings = { locale: 'en-GB', viewport: { width: 1280, height: 900 } }
    const start = () => browser.newContext({ ...settings, ...given })
    if (given === undefined) usual ??= start()
    const context = await (given === undefined ? (usual as Promise<BrowserContext>) : start())
    const page = await context.newPage()
    opened.push(() => (given === undefined ? page.close() : context.close()))
    // Ends what hangs. It is shorter than the timeout of a test, so that the error names the element.
    page.setDefaultTimeout(150_000)
    listen(page, testServer.url, complaints)
    await options.before?.(page)
    await page.goto(testServer.url + to)
    return page
  }
  const page = await open(path, options.context)
  return { testServer, page, complaints, another: (to, given = {}) => open(to, given) }
}

/** Confirms the question that is asked, with a reason. */
export async function confirm(page: Page, action: string, reason = ''): Promise<void> {
  const dialog = page.getByRole('dialog')
  if (reason !== '') await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: action, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** Fills in the form of the sign-in. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
