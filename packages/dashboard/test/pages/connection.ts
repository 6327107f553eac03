import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

inBrowser('a lost connection', () => {
  it('is shown, recovers automatically, and leaves no gap in the live feed', async () => {
    const { page, testServer } = await openTab('/')
    await page.locator('.pulse.live').waitFor()
    await page.getByText('item id mail-1').waitFor()
    await testServer.stop()
    await page.getByText('Data may be stale.').waitFor()
    await page.getByText(/Reconnecting in [1-5] s\./).waitFor()
    for (const n of [1, 2, 3]) await testServer.call('gmail_fetch', 9, { itemId: `away-${n}`, payload: {} })
    await testServer.restart()
    await page.locator('.pulse.live').waitFor()
    await page.getByText('item id away-3').waitFor()
    expect(await page.getByText('Data may be stale').count()).toBe(0)
    await testServer.call('gmail_fetch', 9, { itemId: 'back-1', payload: {} })
    await page.getByText('item id back-1').waitFor()
    // Each event appears once: no event is missed or repeated.
    for (const name of ['away-1', 'away-2', 'away-3', 'back-1'])
      await expect.poll(() => page.getByText(`item id ${name}`).count()).toBe(1)
  })

  it('disables actions, and reports that a change was not sent again', async () => {
    const { page, testServer } = await openTab('/breakers?q=postgres')
    await page.locator('.pulse.live').waitFor()
    await page.getByRole('button', { name: 'Trip service:postgres' }).click()
    const trip = page.getByRole('dialog').getByRole('button', { name: 'Trip' })
    await testServer.stop()
    await page.getByText('Data may be stale.').waitFor({ state: 'attached' })
    await expect.poll(() => trip.isDisabled()).toBe(true)
    await expect
      .poll(() => page.locator('button[aria-label="Reset service:postgres"]').isDisabled())
      .toBe(true)
    await page.getByText('Nothing is sent until it is.').waitFor()
    await testServer.restart()
    await page.locator('.pulse.live').waitFor()
    await expect.poll(() => trip.isEnabled()).toBe(true)
    await page.route('**/trip', (route) => route.abort())
    await trip.click()
    await page.getByText('The change is not sent again.').waitFor()
    await page.unrouteAll()
    expect((await testServer.hf.audit.list({ target: 'service:postgres' })).items).toEqual([])
  })
})
