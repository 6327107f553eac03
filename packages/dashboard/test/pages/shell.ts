import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

inBrowser('the parts that all pages share', () => {
  it('shows clock times with milliseconds beside relative times, in UTC or local time', async () => {
    const { page } = await openTab('/audit', { context: { timezoneId: 'Asia/Kolkata' } })
    const time = page.getByRole('row', { name: /breaker\.trip/ }).locator('time')
    const iso = (await time.getAttribute('datetime')) ?? ''
    const clockOf = (shift: number) => new Date(Date.parse(iso) + shift).toISOString().slice(11, 23)
    await page.getByRole('button', { name: 'UTC', exact: true }).click()
    await expect.poll(() => time.textContent()).toContain(`${clockOf(0)} UTC`)
    await page.reload()
    await time.getByText('UTC').waitFor()
    await page.getByRole('button', { name: 'Local', exact: true }).click()
    await expect.poll(() => time.textContent()).toContain(`${clockOf(5.5 * 3_600_000)} GMT+5:30`)
  })

  it('names the item in the title of the tab', async () => {
    const { page } = await openTab('/policies?id=fetch', { quiet: true })
    await expect.poll(() => page.title()).toBe('fetch · Policies · Holdfast')
    await page.getByRole('link', { name: 'Breakers' }).click()
    await expect.poll(() => page.title()).toBe('Breakers · Holdfast')
  })

  it('undoes filters one by one with Back, and a typed filter as a whole', async () => {
    const { page } = await openTab('/audit', { quiet: true })
    const search = () => new URL(page.url()).search
    await page.getByLabel('Action').selectOption('breaker.trip')
    await page.getByLabel('Target').fill('service:gemini')
    await page.getByLabel('Target').press('Enter')
    await expect.poll(search).toBe('?action=breaker.trip&target=service%3Agemini')
    await page.goBack()
    await expect.poll(search).toBe('?action=breaker.trip')
    await expect.poll(() => page.getByLabel('Target').inputValue()).toBe('')
    await page.goBack()
    await expect.poll(search).toBe('')
    await expect.poll(() => page.getByLabel('Action').inputValue()).toBe('')
    await page.getByRole('link', { name: 'Breakers' }).click()
    await page.getByRole('searchbox').pressSequentially('post')
    await expect.poll(search).toBe('?q=post')
    await page.goBack()
    await expect.poll(search).toBe('')
    await expect.poll(() => new URL(page.url()).pathname).toBe('/breakers')
  })

  it('keeps the selected time range from page to page', async () => {
    const { page } = await openTab('/audit', { quiet: true, context: { timezoneId: 'Asia/Kolkata' } })
    const search = () => new URL(page.url()).search
    await page.getByLabel('Time range').selectOption('Last 6 h')
    await expect.poll(search).toBe('?range=6h')
    await page.getByRole('link', { name: 'Errors' }).click()
    await expect.poll(search).toBe('?range=6h')
    await expect.poll(() => page.getByLabel('Time range').inputValue()).toBe('6h')
    await page.getByLabel('Time range').selectOption('Since…')
    await page.getByLabel('Since, local time').fill('2026-01-29T14:00:00')
    await expect.poll(search).toBe('?from=2026-01-29T08%3A30%3A00.000Z')
    await page.getByRole('button', { name: 'UTC', exact: true }).click()
    await expect.poll(() => page.getByLabel('Since, UTC').inputValue()).toMatch(/^2026-01-29T08:30/)
    await page.getByRole('link', { name: 'Nodes' }).click()
    await expect.poll(search).toBe('?from=2026-01-29T08%3A30%3A00.000Z')
    await page.goBack()
    await page.goBack()
    await expect.poll(search).toBe('?range=6h')
  })

  it('keeps loaded pages and offers new items', async () => {
    const { page, testServer } = await openTab('/audit', { quiet: true })
    const record = async (count: number, target: string) => {
      for (let n = 0; n < count; n++)
        await testServer.hf.audit.record({ by: 'ann' }, 'breaker.reset', `${target}-${n}`)
    }
    await record(120, 'old')
    await page.reload()
    await page.getByText('50 shown.').waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('100 shown.').waitFor()
    await record(3, 'new')
    const refresh = page.getByRole('button', { name: '3 new – refresh' })
    await refresh.waitFor()
    await page.getByText('100 shown.').waitFor()
    expect(await page.getByText('new-2', { exact: true }).count()).toBe(0)
    await refresh.click()
    await page.getByText('new-2', { exact: true }).waitFor()
    await page.getByText('100 shown.').waitFor()
    expect(await refresh.count()).toBe(0)
  })

  it('shows tables as tables on a screen of 768 pixels', async () => {
    const { page } = await openTab('/audit', { context: { viewport: { width: 768, height: 900 } } })
    await page.getByRole('row', { name: /breaker\.trip/ }).waitFor()
    expect(
      await page
        .locator('tbody tr')
        .first()
        .evaluate((row) => getComputedStyle(row).display),
    ).toBe('table-row')
    await page.getByRole('columnheader', { name: 'Actor' }).waitFor()
  })
})

inBrowser('the command palette', () => {
  it('opens with Ctrl-K and with /, and goes to a page', async () => {
    const { page } = await openTab('/', { quiet: true })
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+k')
    const search = page.getByRole('combobox', { name: 'Search pages and IDs' })
    await search.fill('audi')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await page.getByLabel('Target').press('/')
    expect(await search.count()).toBe(0)
    await page.locator('main').focus()
    await page.keyboard.press('/')
    await search.waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Audit' }).waitFor({ state: 'detached' })
  })

  it('shows the keys with ?', async () => {
    const { page } = await openTab('/nodes', { quiet: true })
    await page.getByRole('heading', { name: 'Nodes' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Search pages and IDs').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('finds records by any id', async () => {
    const { page, testServer } = await openTab('/')
    const failed = testServer.hf.run('gmail_fetch', () => Promise.reject(new Error('wrong')), {
      correlationId: 'order-77',
    })
    await failed.catch(() => undefined)
    const [session] = (await testServer.hf.sessions.list({ operation: 'gemini' })).items
    const [letter] = (await testServer.hf.deadLetters.list()).items
    const ids = [
      [session?.sessionId ?? '', 'Session', '/sessions?id='],
      [letter?.dlqId ?? '', 'Dead letter', '/dead-letters?id='],
      ['gmail_fetch', 'Policy', '/policies?id=gmail_fetch'],
      ['pool:proxies:syd-8', 'Breaker', '/breakers?id='],
      ['browser.nav', 'Operation', '/operations?id=browser.navigation'],
      ['browser.navigation', 'Sessions of operation', '/sessions?operation=browser.navigation'],
      ['order-77', 'Sessions with correlation ID', '/sessions?correlation_id=order-77'],
      ['page-2', 'Dead letters of item', '/dead-letters?item_id=page-2'],
    ] as const
    for (const [id, type, url] of ids) {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search pages and IDs' }).fill(id)
      await page.getByRole('option').filter({ hasText: type }).first().click()
      await expect.poll(() => page.url(), { message: type }).toContain(url)
    }
  })
})

inBrowser('problems', () => {
  it('of open breakers are counted in the menu and mark the icon of the tab', async () => {
    const { page, testServer } = await openTab('/audit', { quiet: true })
    const icon = () => page.locator('link[rel="icon"]').getAttribute('href')
    await page.locator('.pulse.live').waitFor()
    await expect.poll(() => icon()).toBe('/icon.svg')
    await testServer.hf.breakers.trip('service:postgres', { by: 'ann' })
    await page.getByRole('link', { name: 'Breakers 1 open' }).waitFor()
    await expect.poll(icon).toBe('/icon-alert.svg')
    expect((await page.request.get(`${testServer.url}/icon-alert.svg`)).headers()['content-type']).toBe(
      'image/svg+xml',
    )
    await testServer.hf.breakers.reset('service:postgres', { by: 'ann' })
    await expect.poll(icon).toBe('/icon.svg')
  })

  it('that raise an alert are shown on every page until they are dismissed', async () => {
    const { page, testServer } = await openTab('/audit', { quiet: true })
    await page.locator('.pulse.live').waitFor()
    const fail = () =>
      testServer.hf
        .run('gemini', () => Promise.reject(Object.assign(new Error('the key was revoked'), { status: 401 })))
        .catch(() => undefined)
    await fail()
    await fail()
    const alert = page.getByLabel('Alerts').getByText('the key was revoked')
    await page.getByLabel('Alerts').getByText('2 times').waitFor()
    await page.getByRole('link', { name: 'Nodes' }).click()
    await alert.waitFor()
    await expect.poll(() => page.locator('link[rel="icon"]').getAttribute('href')).toBe('/icon-alert.svg')
    await page.getByRole('button', { name: 'Dismiss the alert of gemini' }).click()
    await alert.waitFor({ state: 'detached' })
    await fail()
    await page.getByLabel('Alerts').getByText('3 times').waitFor()
    await page.getByLabel('Alerts').getByRole('link', { name: 'gemini' }).click()
    await page.getByRole('list', { name: 'Timeline of attempts and waits' }).waitFor()
  })
})
