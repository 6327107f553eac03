import { systemClock } from 'holdfast/internal'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

/** Clicks, and counts the clicks. */
function countClicks(page: Page) {
  let clicks = 0
  return {
    async click(name: string): Promise<void> {
      clicks++
      await page.getByRole('link', { name, exact: true }).first().click()
    },
    get count() {
      return clicks
    },
  }
}

inBrowser('a question of an on-call engineer', () => {
  it('which operation fails most since 14:00, and why, takes two clicks', async () => {
    const { page, testServer } = await openTab('/', { past: true })
    for (let calls = 0; calls < 30; calls++) await testServer.call('browser.navigation', 9)
    // The range is selected on the overview, as "Since 14:00", and stays selected.
    const since = new Date(systemClock.wall() - 30 * 60_000).toISOString()
    await page.goto(`${testServer.url}/?from=${encodeURIComponent(since)}`)
    const steps = countClicks(page)
    await steps.click('Failed calls')
    const first = page
      .getByRole('region', { name: 'Operations', exact: true })
      .last()
      .locator('tbody tr')
      .first()
    await first.getByRole('link', { name: 'browser.navigation' }).waitFor()
    expect(Number(await first.locator('td').nth(4).textContent())).toBeGreaterThanOrEqual(30)
    await steps.click('browser.navigation')
    const errors = page.getByRole('region', { name: 'Errors by kind' }).locator('tbody tr')
    await errors.first().waitFor()
    await expect
      .poll(() => errors.first().locator('th').textContent())
      .toMatch(/network error|server error|timeout|rate limited/)
    await expect.poll(() => new URL(page.url()).searchParams.get('from')).toBe(since)
    expect(steps.count).toBeLessThanOrEqual(3)
  })

  it('why a breaker is open, and what depends on it, takes two clicks', async () => {
    const { page } = await openTab('/', { past: true })
    const steps = countClicks(page)
    await steps.click('Open breakers')
    await steps.click('service:gemini')
    await page.getByText('It opened after 4 failures.').waitFor()
    const errors = page.getByRole('region', { name: 'Last errors before it opened' })
    await errors
      .getByText(/^(Error|TimeoutError): /)
      .first()
      .waitFor()
    await page
      .getByRole('region', { name: 'Affected operations' })
      .first()
      .getByRole('link', { name: 'gemini', exact: true })
      .waitFor()
    expect(steps.count).toBeLessThanOrEqual(3)
  })
})
