import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the dead letters page', () => {
  it('shows one dead letter and replays it', async () => {
    const { page, house } = await openTab('/dead-letters')
    await page.getByRole('link', { name: 'page-2' }).click()
    expect(await page.getByRole('region', { name: 'Payload' }).last().textContent()).toContain(
      'Minutes of meeting 2',
    )
    await page.getByRole('button', { name: 'Replay' }).click()
    await confirm(page, 'Replay', 'Notion is back')
    await page.locator('.state', { hasText: 'completed' }).waitFor()
    const { items } = await house.hf.audit.list({ action: 'dead_letter.replay' })
    expect(items[0]?.reason).toBe('Notion is back')
  })

  it('replays all pending dead letters with progress and keeps those that fail again', async () => {
    const { page } = await openTab('/dead-letters?operation=notion_write')
    await page.getByRole('link', { name: 'page-0' }).waitFor()
    await page.getByRole('button', { name: 'Replay all pending' }).click()
    await confirm(page, 'Replay all')
    await page.getByText(/6 of 6 done, 1 failed\. Finished\./).waitFor()
    await page.getByRole('link', { name: '5 completed of notion_write' }).waitFor()
    // oxlint-disable-next-line holdfast/wording -- the number of failed entries, as the page shows it
    await page.getByRole('link', { name: '1 failed of notion_write' }).click()
    await page.getByRole('link', { name: 'page-4' }).waitFor()
    expect(await page.getByRole('row').filter({ hasText: 'page-' }).count()).toBe(1)
    await page.getByText('the page is archived').waitFor()
  })

  it('replays the selected dead letters', async () => {
    const { page, house } = await openTab('/dead-letters')
    await page.getByLabel('Select page-1').check()
    await page.getByLabel('Select page-3').check()
    await page.getByRole('button', { name: 'Replay 2' }).click()
    await confirm(page, 'Replay')
    await page.getByText('2 of 2 done. Finished.').waitFor()
    const { items } = await house.hf.deadLetters.list({ status: ['completed'] })
    expect(items.map(({ itemId }) => itemId)).toEqual(['page-1', 'page-3'])
  })

  it('exports dead letters and deletes them after a confirmation', async () => {
    const { page, house } = await openTab('/dead-letters')
    await page.getByRole('link', { name: 'page-0' }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).item_id)).toContain('mail-1')
    expect(lines).toHaveLength(7)

    await page.getByRole('button', { name: 'Delete all' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect((await house.hf.deadLetters.stats()).total).toBe(7)
    await page.getByRole('button', { name: 'Delete all' }).click()
    await confirm(page, 'Delete all', 'test data')
    await page.getByText('No dead letters').waitFor()
    expect((await house.hf.deadLetters.stats()).total).toBe(0)
  })
})
