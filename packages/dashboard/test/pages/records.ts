import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

/** Without retries, so that each call is one error. */
const ONCE = { policy: { maxAttempts: 1 } }

inBrowser('the errors, audit and settings pages', () => {
  it('filters errors by severity and links each to its session', async () => {
    const { page } = await openTab('/errors')
    await page.getByRole('link', { name: 'All errors' }).click()
    await page.getByLabel('Severity').selectOption('ERROR')
    await page.waitForURL(/severity=ERROR/)
    await page.locator('td .state.warn').first().waitFor({ state: 'detached' })
    const row = page.getByRole('row').filter({ hasText: 'ERROR' }).first()
    await row.locator('a[href*="/sessions"]').click()
    await page.getByRole('list', { name: 'Timeline of attempts and waits' }).waitFor()
  })

  it('groups errors by kind, message and operation with counts, and opens one group', async () => {
    const { page, testServer } = await openTab('/errors', { quiet: true })
    await page.getByText('No errors in this time range').waitFor()
    for (const order of [1, 22, 333])
      await testServer.hf
        .run('orders', () => Promise.reject(new Error(`order ${order} is locked`)), ONCE)
        .catch(() => {})
    await testServer.hf
      .run('mails', () => Promise.reject(new Error('order 1 is locked')), ONCE)
      .catch(() => {})
    await page.reload()
    const table = page.getByRole('region', { name: 'Error groups' })
    const row = table.getByRole('row').filter({ hasText: 'orders' })
    await row.waitFor()
    await expect.poll(() => table.getByRole('row').count()).toBe(4) // with header and total
    await expect.poll(() => row.getByRole('cell').nth(3).textContent()).toBe('3')
    await expect.poll(() => row.getByRole('img').getAttribute('aria-label')).toContain('3 errors')
    await expect.poll(() => table.locator('tfoot').textContent()).toContain('4')
    await row.getByRole('link', { name: 'Error: order <n> is locked' }).click()
    const heading = page.getByRole('heading', { name: 'order <n> is locked' })
    await heading.waitFor()
    await expect.poll(() => page.title()).toContain('order <n> is locked')
    await page.getByRole('region', { name: 'Errors', exact: true }).getByText('order 333 is locked').waitFor()
    await page.getByText('No policy and no configuration was changed').waitFor()
    await page.getByRole('link', { name: 'Failed sessions of orders' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.goBack()
    await heading.waitFor()
  })

  it('exports error groups and audit records as CSV', async () => {
    const { page } = await openTab('/errors')
    const save = async () => {
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export CSV' }).click()
      return readFile(await (await download).path(), 'utf8')
    }
    expect(await save()).toMatch(/^kind,operation,message,count,first_seen,last_seen,session_id\r\n/)
    await page.goto(new URL('/audit', page.url()).href)
    expect(await save()).toContain('breaker.trip,pool:proxies:syd-8,the provider asked for it')
  })

  it('undoes a filter with Back and keeps tables at 768 pixels', async () => {
    const { page } = await openTab('/errors?view=list')
    await page.getByLabel('Severity').selectOption('ERROR')
    await page.waitForURL(/severity=ERROR/)
    await page.goBack()
    await expect.poll(() => page.getByLabel('Severity').inputValue()).toBe('')
    await page.setViewportSize({ width: 768, height: 900 })
    for (const path of ['/errors', '/errors?view=list', '/audit', '/policies']) {
      await page.goto(new URL(path, page.url()).href)
      expect([
        path,
        await page
          .locator('tbody tr')
          .first()
          .evaluate((row) => getComputedStyle(row).display),
      ]).toEqual([path, 'table-row'])
    }
  })

  it('shows markup in a recorded error as text', async () => {
    const { page, testServer } = await openTab('/errors')
    const markup = '<img src="none.png" alt="injected" onerror="document.title = `injected`">'
    await testServer.hf.run('injection', () => Promise.reject(new TypeError(markup))).catch(() => {})
    await page.goto(`${testServer.url}/errors?view=list`)
    const row = page.getByRole('row').filter({ hasText: markup }).first()
    await row.locator('a[href*="/sessions"]').click()
    await page.getByRole('list', { name: 'Timeline of attempts and waits' }).waitFor()
    await page.getByText(markup).first().waitFor()
    expect(await page.getByAltText('injected').count()).toBe(0)
    expect(await page.title()).not.toContain('injected')
  })

  it('lists audit records with actor, reason, differences and a link to the target', async () => {
    const { page, testServer } = await openTab('/audit?action=breaker.trip')
    const row = page.getByRole('row', { name: /breaker\.trip/ })
    await expect.poll(() => row.textContent()).toContain('the provider asked for it')
    await testServer.hf.policies.put({ id: 'fetch', maxAttempts: 8 }, { by: 'ann', reason: 'slow site' })
    await page.goto(`${testServer.url}/audit?action=policy.put`)
    await expect
      .poll(() => page.getByRole('list', { name: 'Changes of fetch' }).textContent())
      .toBe('max_attempts4→8')
    await page
      .getByRole('row', { name: /slow site/ })
      .getByRole('link', { name: 'fetch', exact: true })
      .click()
    await page.getByRole('heading', { name: 'fetch', exact: true }).waitFor()
    await expect.poll(() => page.title()).toContain('fetch')
  })

  it('explains an operation, and rolls back with the differences that it makes', async () => {
    const { page, testServer } = await openTab('/settings?operation=browser.navigation')
    await page.getByText('Failures of the kind timeout: policy gmail_fetch').waitFor()
    await page.getByText('No live changes').waitFor()
    await testServer.hf.policies.put({ id: 'fetch', maxAttempts: 8 }, { by: 'ann', reason: 'first' })
    await testServer.hf.policies.put(
      { id: 'fetch', maxAttempts: 9, baseDelay: 300 },
      { by: 'ann', reason: 'second' },
    )
    await page.reload()
    await page.getByLabel('Show changes of version 2').click()
    await expect
      .poll(() => page.getByRole('list', { name: 'Changes of version 2' }).textContent())
      .toBe('policies.fetch.base_delayfile value→300 mspolicies.fetch.max_attempts8→9')
    await page.getByRole('button', { name: 'Roll back to version 1' }).click()
    const diff = page.getByRole('dialog').getByRole('list', { name: 'Changes of the configuration' })
    await expect
      .poll(() => diff.textContent())
      .toBe('policies.fetch.base_delay300 ms→file valuepolicies.fetch.max_attempts9→8')
    await confirm(page, 'Roll back')
    await page.getByText('"max_attempts": 8').waitFor()
    expect((await testServer.hf.policies.get('fetch')).maxAttempts).toBe(8)
    await page.getByRole('button', { name: 'Discard all live changes' }).click()
    await diff.getByText('policies.fetch.max_attempts').waitFor()
    await confirm(page, 'Discard all')
    await expect.poll(async () => (await testServer.hf.policies.get('fetch')).maxAttempts).toBe(4)
    await page.goto(`${testServer.url}/policies?id=fetch`)
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('rolled back to version 1').waitFor()
    await history.getByText('discarded all live changes').waitFor()
    await expect
      .poll(() => history.getByRole('list', { name: 'Changed fields' }).first().textContent())
      .toBe('max_attempts8→none')
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

inBrowser('questions of an engineer on call about errors', () => {
  it('answers in two clicks who changed the policy before the errors rose', async () => {
    const { page, testServer } = await openTab('/', { quiet: true })
    await testServer.hf.policies.put({ id: 'fetch', totalTimeout: 100 }, { by: 'ann', reason: 'fail faster' })
    for (let n = 0; n < 3; n++)
      await testServer.hf
        .run('fetch', () => Promise.reject(new Error('no answer in time')), ONCE)
        .catch(() => {})
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Errors' }).click()
    await page.getByRole('link', { name: 'no answer in time' }).click()
    const changes = page.getByRole('region', { name: 'Configuration changes before and during these errors' })
    const row = changes.getByRole('row', { name: /policy\.put/ })
    await expect.poll(() => row.textContent()).toMatch(/ann.*fail faster/s)
    await expect
      .poll(() => row.getByRole('list', { name: 'Changes of fetch' }).textContent())
      .toBe('total_timeout1 min→100 ms')
  })

  it('answers in three clicks whether a provider limits the rate', async () => {
    const { page, testServer } = await openTab('/', { quiet: true })
    const limited = () => Promise.reject(Object.assign(new Error('slow down'), { status: 429 }))
    for (let n = 0; n < 4; n++) await testServer.hf.run('gemini', limited, ONCE).catch(() => {})
    await testServer.hf.run('fetch', () => Promise.reject(new Error('other')), ONCE).catch(() => {})
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Errors' }).click()
    const kinds = page.getByRole('list', { name: 'Errors by kind' })
    await kinds.getByText('80 %').waitFor()
    await kinds.getByRole('link', { name: 'rate limited 4' }).click()
    const table = page.getByRole('region', { name: 'Error groups' })
    await table.getByText('other').waitFor({ state: 'detached' })
    await table.getByRole('link', { name: 'slow down' }).click()
    const facts = page.getByLabel('Error group', { exact: true })
    await facts.waitFor()
    await expect.poll(() => facts.textContent()).toMatch(/Errors4.*rate limited.*gemini.*HTTP status429/)
  })
})
