import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('errors, audit and settings', () => {
  it('lists errors by severity, each with its session', async () => {
    const { page } = await openTab('/errors')
    await page.getByLabel('Severity').selectOption('ERROR')
    await page.waitForURL(/severity=ERROR/)
    await page.locator('td .state.warn').first().waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: 'ERROR' }).getByRole('link').first().click()
    await page.getByRole('list', { name: 'Timeline of attempts and waits' }).waitFor()
  })

  it('lists who did what and why', async () => {
    const { page } = await openTab('/audit?action=breaker.trip')
    const row = page.getByRole('row', { name: /breaker\.trip/ })
    expect(await row.textContent()).toContain('the provider asked for it')
    await row.getByText('Show').click()
    await page.getByText('"before"').waitFor()
  })

  it('explains an operation and goes back to an earlier version of the changes', async () => {
    const { page, house } = await openTab('/settings?operation=browser.navigation')
    await page.getByText('Failures of the kind timeout: policy gmail_fetch').waitFor()
    await page.getByText('No changes: the file alone counts').waitFor()
    await house.hf.policies.put({ id: 'fetch', maxAttempts: 8 }, { by: 'ann', reason: 'first' })
    await house.hf.policies.put({ id: 'fetch', maxAttempts: 9 }, { by: 'ann', reason: 'second' })
    await page.reload()
    await page.getByRole('button', { name: 'Go back to version 1' }).click()
    await confirm(page, 'Go back')
    await page.getByText('"max_attempts": 8').waitFor()
    expect((await house.hf.policies.get('fetch')).maxAttempts).toBe(8)
  })

  it('keeps the theme that was chosen', async () => {
    const { page } = await openTab('/settings', { context: { colorScheme: 'light' } })
    const shade = () => page.evaluate(() => document.documentElement.dataset['theme'])
    expect(await shade()).toBe('light')
    await page.getByRole('button', { name: 'dark' }).click()
    expect(await shade()).toBe('dark')
    await page.reload()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    expect(await shade()).toBe('dark')
  })

  it('says that there is no such view', async () => {
    const { page } = await openTab('/nowhere', { quiet: true })
    await page.getByText('There is no such view').waitFor()
  })
})
