import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { inBrowser, openTab, signIn, type TestServer } from './tab.js'
import { openTestServer } from './test-server.mjs'

/** Every page with a text to wait for. */
const VIEWS = [
  ['/', 'Live feed'],
  ['/operations', 'gmail_fetch'],
  ['/operations?id=gemini', 'Errors by kind'],
  ['/breakers', 'service:gemini'],
  ['/breakers?id=service%3Agemini', 'Why it opened'],
  ['/pools', 'ams-1'],
  ['/policies', 'gmail_fetch'],
  ['/policies?id=fetch', 'Max attempts (including the first)'],
  ['/sessions?operation=gemini', 'Last error'],
  ['/sessions?active=true', 'patient'],
  ['/dead-letters', 'page-1'],
  ['/errors?operation=gemini', 'First seen'],
  ['/errors?operation=gemini&view=list', 'Context'],
  ['/audit', 'the provider asked for it'],
  ['/nodes', 'this node'],
  ['/tokens', 'No tokens'],
  ['/settings', '"version"'],
] as const

interface Violation {
  id: string
  impact: string
  nodes: { html: string; failureSummary: string }[]
}

/** The serious violations that axe finds in both themes, after a text is shown. */
async function violationsIn(page: Page, text: string): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    // Without motion, so that no colour is checked during the transition from one theme to the other.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.locator(`[data-theme=${colorScheme}]`).waitFor()
    await page.getByText(text).first().waitFor()
    // Evaluated by the debugger, because the content security policy blocks other scripts.
    if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
    const violations = (await page.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
    )) as Violation[]
    for (const { id, nodes } of violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)))
      found.push(`${colorScheme} ${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`)
  }
  return found
}

inBrowser('the accessibility of the dashboard', () => {
  let testServer: TestServer
  beforeAll(async () => {
    testServer = await openTestServer({ past: true })
  })
  afterAll(() => testServer.close())

  it.each(VIEWS)('has no serious violations on %s in both themes', async (path, text) => {
    const { page } = await openTab(path, { testServer })
    expect(await violationsIn(page, text)).toEqual([])
  })

  it('has no serious violations in details, forms and dialogs', async () => {
    const { page } = await openTab('/dead-letters', { testServer })
    await page.getByRole('link', { name: 'page-1' }).click()
    expect(await violationsIn(page, 'Idempotency key')).toEqual([])
    await page.locator('dd a').last().click()
    expect(await violationsIn(page, 'Timeline')).toEqual([])
    await page.getByRole('link', { name: 'Pools' }).click()
    await page.getByRole('button', { name: 'Add a member' }).click()
    expect(await violationsIn(page, 'URL of the new member')).toEqual([])
    await page.getByRole('button', { name: 'Drain ams-1' }).click()
    expect(await violationsIn(page, 'Reason, for the audit trail')).toEqual([])
  })

  it('has no serious violations in the sign-in form', async () => {
    const { page } = await openTab('/', { tokens: true, quiet: true })
    await signIn(page, 'hft_wrong')
    expect(await violationsIn(page, 'Invalid or revoked token')).toEqual([])
  })

  it.each([375, 768])('fits all pages into a screen of %i pixels', async (width) => {
    const { page } = await openTab('/', { testServer })
    await page.setViewportSize({ width, height: 812 })
    for (const [path, text] of VIEWS) {
      await page.goto(testServer.url + path)
      await page.getByText(text).first().waitFor({ state: 'attached' })
      expect([path, await page.evaluate(() => document.documentElement.scrollWidth)]).toEqual([path, width])
    }
  })

  it.each([
    ['narrow', 375, 812],
    ['short', 1280, 240],
  ])('shows the current page in the menu of a %s screen', async (_, width, height) => {
    const { page } = await openTab('/', { testServer, context: { viewport: { width, height } } })
    for (const path of ['/settings', '/breakers']) {
      await page.goto(testServer.url + path)
      const current = page.locator('nav [aria-current]')
      await expect
        .poll(() =>
          current.evaluate((link) => {
            const { left, right, top, bottom } = link.getBoundingClientRect()
            return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight
          }),
        )
        .toBe(true)
    }
  })

  it('supports the keyboard for menu, buttons and dialogs', async () => {
    const { page } = await openTab('/breakers?q=gemini', { testServer })
    await page.getByRole('button', { name: 'Reset service:gemini' }).waitFor()
    await page.keyboard.press('Tab')
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    expect(await focused()).toBe('Skip to content')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Overview')
    await page.getByRole('button', { name: 'Reset service:gemini' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Reset service:gemini?' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await focused()).toBe('Reset')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByLabel('Reason').fill('by keyboard')
    await page.keyboard.press('Enter')
    await page.getByText('service:gemini is closed.').waitFor()
  })

  it('renders in a browser whose language Intl rejects', async () => {
    const { page, complaints } = await openTab('/', {
      testServer,
      before: (opened) =>
        opened.addInitScript(() =>
          Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true }),
        ),
    })
    await page.locator('.chart canvas').first().waitFor()
    expect(complaints).toEqual([])
  })
})
