import { readFile } from 'node:fs/promises'
import { systemClock } from 'holdfast/internal'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab, type TestServer } from '../tab.js'

const DAY_MS = 86_400_000

/** Stores dead letters with their own times, oldest first. */
async function seed(
  { hf }: TestServer,
  letters: readonly { item: string; operation: string; at: number; payload: unknown }[],
): Promise<void> {
  const first = await hf.deadLetters.enqueue({ operation: 'x', itemId: 'x', payload: 1 })
  await hf.deadLetters.purge({ ids: [first.dlqId] })
  await hf.store.deadLetters.add(
    letters.map(({ item, operation, at, payload }, n) => ({
      ...first,
      dlqId: `dlq_seed_${n}_${item}`,
      idempotencyKey: `seed-${n}`,
      itemId: item,
      operationType: operation,
      originalPayload: payload,
      createdAt: new Date(at),
      lastAttempt: new Date(at),
    })),
    { maxEntries: 1_000_000 },
  )
}

const many = (count: number, at: number, prefix = 'item') =>
  Array.from({ length: count }, (_, n) => ({
    item: `${prefix}-${n}`,
    operation: 'notion_write',
    at: at + n,
    payload: { n },
  }))

const itemsWith = async ({ hf }: TestServer, status: 'completed' | 'failed' | 'pending') =>
  (await hf.deadLetters.list({ status, limit: 1000 })).items.map(({ itemId }) => itemId)

const panel = (page: Page) => page.getByRole('region', { name: 'Replay', exact: true })

inBrowser('the dead letters page', () => {
  it('shows one dead letter and replays it', async () => {
    const { page, testServer } = await openTab('/dead-letters')
    await page.getByRole('link', { name: 'page-2' }).click()
    await expect
      .poll(() => page.getByRole('region', { name: 'Payload' }).last().textContent())
      .toContain('Minutes of meeting 2')
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await confirm(page, 'Replay', 'Notion is back')
    await page.getByText('The replay succeeded.').waitFor()
    await page.locator('.state', { hasText: 'completed' }).waitFor()
    await expect.poll(() => page.title()).toBe('page-2 · Dead letters · Holdfast')
    const { items } = await testServer.hf.audit.list({ action: 'dead_letter.replay' })
    expect(items[0]?.reason).toBe('Notion is back')
  })

  it('states that a replay failed again', async () => {
    const { page } = await openTab('/dead-letters')
    await page.getByRole('link', { name: 'page-4' }).click()
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await confirm(page, 'Replay')
    await page.getByText('The replay failed again: Error: the page is archived').waitFor()
    expect(await page.getByText('no handler').count()).toBe(0)
  })

  it('states that there is no handler only if there is none', async () => {
    const { page } = await openTab('/dead-letters')
    await page.getByRole('link', { name: 'mail-1' }).click()
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await confirm(page, 'Replay')
    await page.getByText('This process has no handler for gmail_fetch.').waitFor()
  })

  it('replays exactly the dead letters that match the filter, and states their number', async () => {
    const { page, testServer } = await openTab('/dead-letters?item_id=page-3')
    await page.getByRole('button', { name: 'Replay 1 matching' }).click()
    await page.getByRole('dialog').getByText('item page-3').waitFor()
    await confirm(page, 'Replay')
    await panel(page).getByText('1 succeeded, 0 failed, 0 skipped').waitFor()
    expect(await itemsWith(testServer, 'completed')).toEqual(['page-3'])

    await page.goto(`${testServer.url}/dead-letters?search=meeting+4`)
    await page.getByRole('button', { name: 'Replay 1 matching' }).click()
    await confirm(page, 'Replay')
    await panel(page).getByText('0 succeeded, 1 failed, 0 skipped').waitFor()

    await page.goto(`${testServer.url}/dead-letters?status=failed`)
    await page.getByRole('button', { name: 'Replay 1 matching' }).click()
    await confirm(page, 'Replay')
    await panel(page).getByText('0 succeeded, 1 failed, 0 skipped').waitFor()
    expect(await itemsWith(testServer, 'pending')).toEqual(['page-0', 'page-1', 'page-2', 'page-5', 'mail-1'])
  })

  it('shows the results of a bulk replay with links and the reasons of skipped ones', async () => {
    const { page } = await openTab('/dead-letters')
    await page.getByRole('button', { name: 'Replay 7 matching' }).click()
    await confirm(page, 'Replay')
    await panel(page).getByText('5 succeeded, 1 failed, 1 skipped').waitFor()
    await panel(page).getByText('1 skipped: this process has no handler for gmail_fetch.').waitFor()
    await panel(page).getByRole('link', { name: '1 failed' }).click()
    await page.getByRole('link', { name: 'page-4' }).waitFor()
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'page-' }).count()).toBe(1)
    await page.getByText('the page is archived').waitFor()
    await page.goBack()
    await page.getByRole('link', { name: '5 completed of notion_write' }).waitFor()
  })

  it('requires the number to be typed above 100 dead letters', async () => {
    const { page, testServer } = await openTab('/dead-letters', {
      quiet: true,
      before: async () => undefined,
    })
    await seed(testServer, many(120, systemClock.wall() - 60_000))
    await page.reload()
    await page.getByRole('button', { name: 'Delete 120 matching' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This cannot be undone.').waitFor()
    const button = dialog.getByRole('button', { name: 'Delete', exact: true })
    await expect.poll(() => button.isDisabled()).toBe(true)
    await dialog.getByLabel('Type 120 to confirm').fill('12')
    await expect.poll(() => button.isDisabled()).toBe(true)
    await dialog.getByLabel('Type 120 to confirm').fill('120')
    await button.click()
    await page.getByText('120 deleted').waitFor()
    expect((await testServer.hf.deadLetters.stats()).total).toBe(0)
  })

  it('replays the selected dead letters', async () => {
    const { page, testServer } = await openTab('/dead-letters')
    await page.getByLabel('Select page-1').check()
    await page.getByLabel('Select page-3').check()
    await page.getByRole('button', { name: 'Replay 2 selected' }).click()
    await confirm(page, 'Replay')
    await panel(page).getByText('2 succeeded, 0 failed, 0 skipped').waitFor()
    expect(await itemsWith(testServer, 'completed')).toEqual(['page-1', 'page-3'])
  })

  it('keeps loaded pages when the list is refreshed, and offers new dead letters', async () => {
    const { page, testServer } = await openTab('/dead-letters?order=newest', { quiet: true })
    await seed(testServer, many(120, systemClock.wall() - 60_000))
    await page.reload()
    await page.getByText('50 shown.').waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('100 shown.').waitFor()
    for (let n = 0; n < 12; n++)
      await testServer.hf.deadLetters.enqueue({
        operation: 'notion_write',
        itemId: `new-${n}`,
        payload: { n },
      })
    const refresh = page.getByRole('button', { name: '12 new – refresh' })
    await refresh.waitFor()
    await page.getByText('100 shown.').waitFor()
    expect(await page.getByRole('link', { name: 'new-1', exact: true }).count()).toBe(0)
    await page.getByRole('button', { name: 'Delete 132 matching' }).waitFor()
    await refresh.click()
    await page.getByRole('link', { name: 'new-1', exact: true }).waitFor()
    await page.getByText('100 shown.').waitFor()
  })

  it('edits a payload, replays with it and keeps both versions', async () => {
    const { page, testServer } = await openTab('/dead-letters?item_id=page-4')
    await page.getByRole('link', { name: 'page-4' }).click()
    await page.getByRole('button', { name: 'Edit payload' }).click()
    const field = page.getByRole('textbox', { name: 'Payload' })
    await field.fill('{ "page": ')
    await page.getByText('not valid JSON').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Save and replay' }).isDisabled()).toBe(true)
    await page.getByRole('link', { name: 'Sessions' }).click()
    await page.getByRole('dialog').getByText('The changes of the payload are not saved.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await field.fill('{ "page": "page-4", "title": "Corrected" }')
    await page.getByLabel('Reason').fill('the page was archived')
    await page.getByRole('button', { name: 'Save and replay' }).click()
    await page.getByText('The replay succeeded.').waitFor()
    await page.getByText('Original payload', { exact: true }).click()
    await expect
      .poll(() => page.getByRole('region', { name: 'Original payload' }).textContent())
      .toContain('bad')
    await expect
      .poll(() => page.getByRole('region', { name: 'Edited payload' }).last().textContent())
      .toContain('Corrected')
    const { items } = await testServer.hf.audit.list({ action: 'dead_letter.edit' })
    expect(items).toMatchObject([{ reason: 'the page was archived', after: { fields: ['title', 'bad'] } }])
  })

  it('replays when the breaker closes', async () => {
    const { page, testServer } = await openTab('/dead-letters', { quiet: true })
    testServer.hf.deadLetters.handle('gemini', async () => {})
    await testServer.hf.deadLetters.enqueue({ operation: 'gemini', itemId: 'prompt-1', payload: { n: 1 } })
    await testServer.hf.breakers.trip('service:gemini', { by: 'ann' })
    await page.reload()
    await page.getByRole('button', { name: 'Replay 1 matching' }).click()
    await confirm(page, 'Replay')
    await panel(page).getByText('1 skipped: gemini is unavailable').waitFor()
    await panel(page).getByRole('button', { name: 'Replay when the breaker closes' }).click()
    await panel(page).getByText('1 waiting: they are replayed when the breaker of gemini closes.').waitFor()
    await page.getByText('replay requested').waitFor()
    await testServer.hf.breakers.reset('service:gemini', { by: 'ann' })
    await page.getByRole('link', { name: '1 completed of gemini' }).waitFor()
  })

  it("replays yesterday's mails of one customer only, in three clicks", async () => {
    const { page, testServer } = await openTab('/dead-letters', {
      quiet: true,
      context: { timezoneId: 'UTC' },
    })
    const sent: unknown[] = []
    testServer.hf.deadLetters.handle('mail.send', (payload) => void sent.push(payload))
    const noon = Math.floor(systemClock.wall() / DAY_MS) * DAY_MS - DAY_MS / 2
    const mail = (n: number, customer: string, at: number, operation = 'mail.send') => ({
      item: `mail-${n}`,
      operation,
      at,
      payload: { n, customer },
    })
    await seed(testServer, [
      mail(0, 'acme', noon - DAY_MS),
      mail(1, 'acme', noon),
      mail(2, 'globex', noon + 1),
      mail(3, 'acme', noon + 2),
      mail(4, 'acme-2', noon + 3),
      mail(5, 'acme', noon + DAY_MS / 2 + 1),
    ])
    await page.reload()
    let clicks = 0
    await page.exposeFunction('countClick', () => void clicks++)
    await page.evaluate(() =>
      document.addEventListener(
        'click',
        () => (globalThis as { countClick?: () => void }).countClick?.(),
        true,
      ),
    )
    await page.getByLabel('Search payload').fill('"customer":"acme"')
    await page.getByLabel('Search payload').press('Enter')
    await page.getByRole('button', { name: 'Yesterday' }).click()
    await page.getByRole('button', { name: 'Replay 2 matching' }).click()
    await confirm(page, 'Replay')
    await panel(page).getByText('2 succeeded, 0 failed, 0 skipped').waitFor()
    expect(clicks).toBe(3)
    expect(sent).toEqual([
      { n: 1, customer: 'acme' },
      { n: 3, customer: 'acme' },
    ])
  })

  it('shows the age of the oldest pending dead letter, and stays a table at 768 pixels', async () => {
    const { page } = await openTab('/dead-letters', { context: { viewport: { width: 768, height: 900 } } })
    await page.getByText('Oldest pending:').waitFor()
    const row = page.getByRole('region', { name: 'Dead letters', exact: true }).locator('tbody tr').first()
    expect(await row.evaluate((each) => getComputedStyle(each).display)).toBe('table-row')
  })

  it('exports dead letters and deletes them after a confirmation', async () => {
    const { page, testServer } = await openTab('/dead-letters')
    await page.getByRole('link', { name: 'page-0' }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export JSON Lines' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).item_id)).toContain('mail-1')
    expect(lines).toHaveLength(7)

    await page.getByRole('button', { name: 'Delete 7 matching' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect((await testServer.hf.deadLetters.stats()).total).toBe(7)
    await page.goto(`${testServer.url}/dead-letters?operation=gmail_fetch`)
    await page.getByRole('button', { name: 'Delete 1 matching' }).click()
    await confirm(page, 'Delete', 'test data')
    await page.getByText('1 deleted').waitFor()
    await page.getByText('No dead letters').waitFor()
    expect((await testServer.hf.deadLetters.stats()).total).toBe(6)
  })
})
