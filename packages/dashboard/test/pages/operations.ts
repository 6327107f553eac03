import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

const names = (page: Page) =>
  page
    .getByRole('region', { name: 'Operations', exact: true })
    .last()
    .locator('tbody tr td:first-child')
    .allTextContents()

inBrowser('the operations page', () => {
  it('lists the operations with most failures first, with totals, and sorts by a column', async () => {
    const { page, complaints } = await openTab('/operations', { past: true })
    const table = page.getByRole('region', { name: 'Operations', exact: true }).last()
    await table.waitFor()
    await expect
      .poll(async () => (await names(page)).slice(0, 3))
      .toEqual(['notion_write', 'gmail_fetch', 'gemini'])
    const row = table.locator('tr', { hasText: 'gemini' })
    await row.getByText('0 %', { exact: true }).waitFor()
    await row.getByText('open', { exact: false }).first().waitFor()
    await row.getByRole('img', { name: '3 calls, 3 failed' }).waitFor()
    const calls = (await table.locator('tbody tr td:nth-child(3)').allTextContents()).map(Number)
    const total = calls.reduce((sum, count) => sum + count, 0)
    await expect.poll(() => table.locator('tfoot td:nth-child(3)').textContent()).toBe(String(total))
    await table.getByRole('button', { name: 'Calls' }).click()
    await expect.poll(async () => (await names(page))[0]).toBe('gmail_fetch')
    await expect.poll(() => new URL(page.url()).search).toBe('?sort=-calls')
    await page.goBack()
    await expect.poll(async () => (await names(page))[0]).toBe('notion_write')
    expect(complaints).toEqual([])
  })

  it('exports the table as CSV', async () => {
    const { page } = await openTab('/operations')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ])
    const text = await readFile(await download.path(), 'utf8')
    expect(text).toMatch(/^operation,calls,success_rate,failures,p50,p95,p99,retries,rejections,breakers\r\n/)
    expect(text).toContain('gemini,3,0,3,')
  })

  it('filters by name, and applies the time range of all pages', async () => {
    const { page } = await openTab('/operations?range=15m&q=gem', { past: true })
    await expect.poll(() => names(page)).toEqual(['gemini'])
    await page.getByRole('link', { name: 'gemini', exact: true }).click()
    await page.getByRole('heading', { name: 'gemini' }).waitFor()
    await expect.poll(() => new URL(page.url()).searchParams.get('range')).toBe('15m')
    await expect.poll(() => page.title()).toBe('gemini · Operations · Holdfast')
  })

  it('shows errors by kind, policies, breakers and failed sessions of one operation', async () => {
    const { page } = await openTab('/operations?id=gemini')
    const errors = page.getByRole('region', { name: 'Errors by kind' }).locator('table')
    await errors.waitFor()
    await expect.poll(() => errors.locator('tbody tr').count()).toBeGreaterThan(1)
    await expect.poll(() => errors.locator('tbody a[href*="group="]').count()).toBeGreaterThan(1)
    const facts = page.getByRole('region', { name: 'Policies and breakers' })
    await facts.getByRole('link', { name: 'gemini', exact: true }).waitFor()
    await facts.getByRole('link', { name: 'service:gemini' }).waitFor()
    await facts.getByText('open').waitFor()
    const sessions = page.getByRole('region', { name: 'Recent failed sessions' }).last()
    await sessions.locator('tbody tr').first().waitFor()
    await expect.poll(() => sessions.locator('tbody tr').count()).toBe(3)
    await sessions
      .getByRole('link', { name: /^gemini_/ })
      .first()
      .click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/sessions')
  })

  it('shows the values of a step in a tooltip at the cursor, and the markers of the chart as links', async () => {
    const { page, testServer } = await openTab('/?range=15m')
    await testServer.hf.policies.put({ id: 'fetch', maxAttempts: 6 }, { by: 'kim' })
    await page.reload()
    const over = page.locator('.chart .u-over').first()
    const box = await over.boundingBox()
    if (box === null) throw new Error('the chart is not drawn')
    await page.mouse.move(box.x + box.width - 20, box.y + 60)
    const tooltip = page.locator('.chart-tooltip:not([hidden])')
    await tooltip.getByText(/Calls \d+/).waitFor()
    await expect.poll(() => tooltip.textContent()).toMatch(/Failed \d+ .*p95/s)
    const markers = page.getByRole('list', { name: 'Markers' })
    await markers.getByRole('link', { name: 'policy.put fetch by kim' }).waitFor()
    await markers.getByRole('link', { name: 'service:gemini opened' }).click()
    await expect.poll(() => new URL(page.url()).search).toContain('id=service%3Agemini')
  })
})
