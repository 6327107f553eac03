import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

inBrowser('the overview page', () => {
  it('shows counts, and events as they happen', async () => {
    const { page, testServer, complaints } = await openTab('/', { past: true })
    await page.getByRole('img', { name: /^Chart from .* calls, .* failed, .* retries$/ }).waitFor()
    await page.locator('.tiles:not(.blank)').waitFor()
    const tile = (name: string) => page.locator('.tile').filter({ hasText: name })
    await expect.poll(() => tile('Dead letters').locator('.tile-value').textContent()).toBe('7')
    await expect.poll(() => tile('Open breakers').locator('.tile-value').textContent()).toBe('2')
    await expect
      .poll(() => page.getByRole('list', { name: 'Calls by successful attempt' }).textContent())
      .toContain('Attempt 2')
    await expect
      .poll(() => page.getByRole('list', { name: 'Failed attempts by kind' }).textContent())
      .toContain('timeout')

    await testServer.call('gmail_fetch', 9, { itemId: 'mail-77', payload: { mail: 77 } })
    await page.getByText('item id mail-77').waitFor()
    expect(complaints).toEqual([])
  })

  it('states that failures by kind are attempts, and their total is the sum of the bars', async () => {
    const { page } = await openTab('/', { past: true })
    const bars = page.getByRole('list', { name: 'Failed attempts by kind' }).locator('.bar-value')
    await bars.first().waitFor()
    const counts = (await bars.allTextContents()).map((text) => Number(text.replace(',', '')))
    const total = counts.reduce((sum, count) => sum + count, 0)
    expect(counts.length).toBeGreaterThan(2)
    await page.getByText(`${total.toLocaleString('en')} failed attempts and rejected calls`).waitFor()
    await page.getByRole('link', { name: 'timeout', exact: true }).click()
    await expect
      .poll(() => new URL(page.url()).pathname + new URL(page.url()).search)
      .toBe('/errors?kind=timeout')
  })

  it('zooms in by the time range and by dragging over the chart', async () => {
    const { page } = await openTab('/', { past: true })
    await page.getByText('one point per hour').waitFor()
    await page.getByLabel('Time range').selectOption('1h')
    await page.getByText('one point per 1 min').waitFor()
    // The URL contains the range, so that it can be shared.
    await expect.poll(() => new URL(page.url()).search).toBe('?range=1h')
    await page.reload()
    await page.getByText('one point per 1 min').waitFor()
    await page.getByLabel('Time range').selectOption('24h')
    await page.getByText('one point per hour').waitFor()
    const over = page.locator('.chart .u-over').first()
    const box = await over.boundingBox()
    if (box === null) throw new Error('the chart is not drawn')
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 })
    await page.mouse.up()
    await page.getByText(/one point per \d min/).waitFor()
  })

  it('filters the live feed, and stores the filter in the URL', async () => {
    const { page } = await openTab('/')
    const lines = page.locator('.feed li')
    await lines.first().waitFor()
    await page.getByRole('combobox', { name: 'Events' }).selectOption('Breakers')
    await expect
      .poll(() => lines.locator('strong').allTextContents())
      .toEqual(['circuit breaker opened', 'circuit breaker opened'])
    await page.getByLabel('Filter by operation or ID').fill('gemini')
    await page.getByLabel('Filter by operation or ID').press('Enter')
    await expect.poll(() => lines.count()).toBe(1)
    await expect.poll(() => new URL(page.url()).search).toBe('?event=circuit_breaker_&feed=gemini')
    await lines.getByRole('link', { name: 'service:gemini' }).click()
    await page.getByRole('heading', { name: 'service:gemini' }).waitFor()
  })

  it('pauses the live feed and resumes it', async () => {
    const { page, testServer } = await openTab('/')
    await page.getByText('item id mail-1').waitFor()
    // All events are recent, so that the default range is short.
    await page.getByText('one point per 1 min').waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await testServer.call('gmail_fetch', 9, { itemId: 'mail-88', payload: {} })
    const resume = page.getByRole('button', { name: /Resume \(\d+ new\)/ })
    await resume.waitFor()
    expect(await page.getByText('item id mail-88').count()).toBe(0)
    await resume.click()
    await page.getByText('item id mail-88').waitFor()
  })

  it('shows hints while there is no data', async () => {
    const { page } = await openTab('/', { quiet: true })
    await page.getByText('No calls in this time range').waitFor()
    await page.getByText('Events of retries, breakers and dead letters').waitFor()
  })
})
