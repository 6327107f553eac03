import type { Route } from 'playwright-core'
import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the breakers page', () => {
  it('filters breakers by state and name, and stores the filter in the URL', async () => {
    const { page } = await openTab('/breakers')
    await page.getByRole('button', { name: 'open 2', exact: true }).click()
    await page.getByText('service:notion').waitFor({ state: 'detached' })
    await expect
      .poll(() =>
        page
          .getByRole('listitem')
          .filter({ has: page.locator('.breaker') })
          .count(),
      )
      .toBe(2)
    await page.getByLabel('Filter by ID').fill('gem')
    await page.getByText('pool:proxies:syd-8').waitFor({ state: 'detached' })
    await expect.poll(() => new URL(page.url()).search).toBe('?state=open&q=gem')
    await page.reload()
    await page.getByText('service:gemini').waitFor()
    await expect.poll(() => page.getByLabel('Filter by ID').inputValue()).toBe('gem')
    await page.getByLabel('Filter by ID').fill('nothing like it')
    await page.getByText('No matching breakers').waitFor()
  })

  it('trips and resets a breaker with a reason in the audit trail', async () => {
    const { page, testServer } = await openTab('/breakers?q=postgres')
    const row = page.locator('.breaker', { hasText: 'service:postgres' })
    await page.getByRole('button', { name: 'Trip service:postgres' }).click()
    await confirm(page, 'Trip', 'moving the database')
    await row.locator('.state', { hasText: 'open' }).waitFor()
    await row.getByText(/^in \d+ min\b/).waitFor()
    await page.getByRole('button', { name: 'Reset service:postgres' }).click()
    await confirm(page, 'Reset')
    await row.locator('.state', { hasText: 'closed' }).waitFor()
    const { items } = await testServer.hf.audit.list({ target: 'service:postgres' })
    expect(items.map(({ action, reason }) => [action, reason])).toEqual([
      ['breaker.reset', undefined],
      ['breaker.trip', 'moving the database'],
    ])
  })

  it('shows changes that other callers make', async () => {
    const { page, testServer } = await openTab('/breakers?q=postgres')
    const row = page.locator('.breaker', { hasText: 'service:postgres' })
    await row.locator('.state', { hasText: 'closed' }).waitFor()
    await page.locator('.pulse.live').waitFor()
    await testServer.hf.breakers.trip('service:postgres', { by: 'another' })
    await row.locator('.state', { hasText: 'open' }).waitFor()
    await row.getByRole('img', { name: /^Last 15 min: .*open \d+ %/ }).waitFor()
    await row.getByText(/^in \d+ min\b/).waitFor()
  })

  it('shows the failures that opened a breaker', async () => {
    const { page } = await openTab('/breakers')
    const row = (id: string) => page.locator('.breaker', { hasText: id })
    await row('service:gemini').getByText('opened after 4 failures').waitFor()
    await row('pool:proxies:syd-8').getByText('tripped').waitFor()
  })

  it('shows how often each breaker opened in the last hour', async () => {
    const { page, testServer } = await openTab('/breakers')
    const opened = (id: string, times: number) =>
      page
        .locator('.breaker', { hasText: id })
        .getByRole('img', { name: `opened ${times} times in the last hour`, exact: true })
        .waitFor()
    await opened('service:gemini', 1)
    await opened('service:postgres', 0)
    for (const times of [1, 2]) {
      await testServer.hf.breakers.trip('service:postgres', { by: 'ops' })
      await opened('service:postgres', times)
      await testServer.hf.breakers.reset('service:postgres', { by: 'ops' })
      await page
        .locator('.breaker', { hasText: 'service:postgres' })
        .locator('.state', { hasText: 'closed' })
        .waitFor()
    }
  })

  it('keeps the order of the rows under the pointer', async () => {
    const { page, testServer } = await openTab('/breakers')
    await page.locator('.pulse.live').waitFor()
    const row = page.locator('.breaker', { hasText: 'service:postgres' })
    await row.hover()
    const before = await row.boundingBox()
    await testServer.hf.breakers.trip('service:postgres', { by: 'another' })
    await testServer.hf.breakers.trip('pool:proxies:ams-1', { by: 'another' })
    await row.locator('.state', { hasText: 'open' }).waitFor()
    expect(await row.boundingBox()).toEqual(before)
    await page.getByRole('heading', { name: 'Breakers' }).hover()
    await expect.poll(async () => (await row.boundingBox())?.y).toBeLessThan(before?.y ?? 0)
  })

  it('keeps the state of an event when an older response arrives', async () => {
    const { page, testServer } = await openTab('/audit', { quiet: true })
    await page.locator('.pulse.live').waitFor()
    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    let asked = 0
    const answerOlder = async (route: Route): Promise<void> => {
      // Later requests are never answered.
      if (asked++ > 0) return
      const older = await route.fetch()
      const heard = new Promise((resolve) => network.once('Network.dataReceived', resolve))
      await testServer.hf.breakers.trip('service:postgres', { by: 'another' })
      await heard
      // The page handles events in batches, a few times a second.
      await page.waitForTimeout(400)
      await route.fulfill({ response: older })
    }
    await page.route(/\/circuit-breakers\?/, answerOlder)
    await page.getByRole('link', { name: 'Breakers' }).click()
    const row = page.locator('.breaker', { hasText: 'service:postgres' })
    await row.locator('.state').waitFor()
    await row.getByText(/^in \d+ min\b/).waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it('renders only the visible rows of ten thousand breakers', async () => {
    const { page, testServer } = await openTab('/breakers', { breakers: 10_000, quiet: true })
    const list = page.getByRole('region', { name: '10,011 breakers' })
    await list.waitFor()
    await expect.poll(() => page.locator('.breaker').count()).toBeLessThan(80)
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.getByText('service:postgres').waitFor()
    await expect.poll(() => page.locator('.breaker').count()).toBeLessThan(80)
    await testServer.hf.breakers.trip('pool:crowd:m09999', { by: 'another' })
    await list.evaluate((element) => element.scrollTo(0, 0))
    await page.locator('.breaker.open', { hasText: 'pool:crowd:m09999' }).waitFor()
  })
})
