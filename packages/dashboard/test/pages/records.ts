import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the errors, audit and settings pages', () => {
  it('filters errors by severity and links each to its session', async () => {
    const { page } = await openTab('/errors')
    await page.getByLabel('Severity').selectOption('ERROR')
    await page.waitForURL(/severity=ERROR/)
    await page.locator('td .state.warn').first().waitFor({ state: 'detached' })
    await page.getByRole('row').filter({ hasText: 'ERROR' }).getByRole('link').first().click()
    await page.getByRole('list', { name: 'Timeline of attempts and waits' }).waitFor()
  })

  it('shows markup in a recorded error as text', async () => {
    const { page, house } = await openTab('/errors')
    const markup = '<img src="none.png" alt="injected" onerror="document.title = `injected`">'
    await house.hf.run('injection', () => Promise.reject(new TypeError(markup))).catch(() => {})
    await page.reload()
    const link = page.getByRole('row').filter({ hasText: markup }).getByRole('link').first()
    await link.click()
    await page.getByRole('list', { name: 'Timeline of attempts and waits' }).waitFor()
    await page.getByText(markup).first().waitFor()
    expect(await page.getByAltText('injected').count()).toBe(0)
    expect(await page.title()).not.toContain('injected')
  })

  it('lists audit records with actor and reason', async () => {
    const { page } = await openTab('/audit?action=breaker.trip')
    const row = page.getByRole('row', { name: /breaker\.trip/ })
    expect(await row.textContent()).toContain('the provider asked for it')
    await row.getByText('Show').click()
    await page.getByText('"before"').waitFor()
  })

  it('explains an operation, and rolls back with the differences that it makes', async () => {
    const { page, house } = await openTab('/settings?operation=browser.navigation')
    await page.getByText('Failures of the kind timeout: policy gmail_fetch').waitFor()
    await page.getByText('No live changes').waitFor()
    await house.hf.policies.put({ id: 'fetch', maxAttempts: 8 }, { by: 'ann', reason: 'first' })
    await house.hf.policies.put(
      { id: 'fetch', maxAttempts: 9, baseDelay: 300 },
      { by: 'ann', reason: 'second' },
    )
    await page.reload()
    await page.getByLabel('Show changes of version 2').click()
    expect(await page.getByRole('list', { name: 'Changes of version 2' }).textContent()).toBe(
      'policies.fetch.base_delayfile value→300 mspolicies.fetch.max_attempts8→9',
    )
    await page.getByRole('button', { name: 'Roll back to version 1' }).click()
    const diff = page.getByRole('dialog').getByRole('list', { name: 'Changes of the configuration' })
    expect(await diff.textContent()).toBe(
      'policies.fetch.base_delay300 ms→file valuepolicies.fetch.max_attempts9→8',
    )
    await confirm(page, 'Roll back')
    await page.getByText('"max_attempts": 8').waitFor()
    expect((await house.hf.policies.get('fetch')).maxAttempts).toBe(8)
    await page.getByRole('button', { name: 'Discard all live changes' }).click()
    await diff.getByText('policies.fetch.max_attempts').waitFor()
    await confirm(page, 'Discard all')
    await expect.poll(async () => (await house.hf.policies.get('fetch')).maxAttempts).toBe(4)
    await page.goto(`${house.url}/policies?id=fetch`)
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('rolled back to version 1').waitFor()
    await history.getByText('discarded all live changes').waitFor()
    expect(await history.getByRole('list', { name: 'Changed fields' }).first().textContent()).toBe(
      'max_attempts8→none',
    )
  })

  it('stores the selected theme', async () => {
    const { page } = await openTab('/settings', { context: { colorScheme: 'light' } })
    const shade = () => page.evaluate(() => document.documentElement.dataset['theme'])
    expect(await shade()).toBe('light')
    await page.getByRole('button', { name: 'dark' }).click()
    expect(await shade()).toBe('dark')
    await page.reload()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    expect(await shade()).toBe('dark')
  })

  it('shows a message for an unknown page', async () => {
    const { page } = await openTab('/nowhere', { quiet: true })
    await page.getByText('Page not found').waitFor()
  })
})
