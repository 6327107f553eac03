import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

inBrowser('a lost connection', () => {
  it('is shown, comes back by itself, and leaves no gap in the feed', async () => {
    const { page, house } = await openTab('/')
    await page.locator('.pulse.live').waitFor()
    await page.getByText('item id mail-1').waitFor()
    await house.stop()
    await page.getByText('Connection lost').waitFor()
    for (const n of [1, 2, 3]) await house.call('gmail_fetch', 9, { itemId: `away-${n}`, payload: {} })
    await house.restart()
    await page.locator('.pulse.live').waitFor()
    await page.getByText('item id away-3').waitFor()
    expect(await page.getByText('Connection lost').count()).toBe(0)
    await house.call('gmail_fetch', 9, { itemId: 'back-1', payload: {} })
    await page.getByText('item id back-1').waitFor()
    // Each once: nothing is missed, nothing told twice.
    for (const name of ['away-1', 'away-2', 'away-3', 'back-1'])
      expect(await page.getByText(`item id ${name}`).count()).toBe(1)
  })
})
