import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the sessions page', () => {
  it('filters sessions by operation and shows the timeline of one', async () => {
    const { page } = await openTab('/sessions')
    await page.getByLabel('Operation').fill('gemini')
    await page.getByLabel('Operation').press('Enter')
    await page.getByRole('link', { name: 'gmail_fetch' }).first().waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'gemini' }).last().click()
    const timeline = page.getByRole('list', { name: 'Timeline of attempts and waits' })
    await timeline.waitFor()
    await expect
      .poll(() => timeline.getByText(/^attempt \d$/).allTextContents())
      .toEqual(['attempt 1', 'attempt 2'])
    const facts = page.getByRole('region', { name: 'Call' })
    await facts.getByText('attempts exhausted').waitFor()
    await facts.getByText('finished').waitFor()
    await facts.getByText('2 attempts').waitFor()
    await expect.poll(() => page.title()).toBe('gemini · Sessions · Holdfast')
    const shared = page.url()
    await page.goBack()
    await page.goto(shared)
    await timeline.waitFor()
  })

  it('shows a rejected call without attempts, and keeps its entry', async () => {
    const { page, testServer } = await openTab('/sessions?operation=gemini', { quiet: true })
    await testServer.hf.breakers.trip('service:gemini', { by: 'ann' })
    await testServer.call('gemini', 9)
    await page.reload()
    const row = page.getByRole('row').filter({ hasText: 'gemini' })
    await row.getByText('rejected').waitFor()
    await expect.poll(() => row.locator('td.number').first().textContent()).toBe('0')
    await page.getByRole('link', { name: 'gemini' }).click()
    await page.getByText('0 attempts, rejected: circuit open').waitFor()
    await expect
      .poll(() => page.getByRole('region', { name: 'Attempts' }).last().locator('tbody tr').count())
      .toBe(1)
  })

  it('shows an axis, and the member and the error of each attempt', async () => {
    const { page, testServer } = await openTab('/sessions?operation=scrape', { quiet: true })
    await testServer.hf
      .run(
        'scrape',
        async ({ number }) => {
          if (number < 3) throw Object.assign(new Error('the socket was reset'), { code: 'ECONNRESET' })
        },
        { pool: 'proxies' },
      )
      .catch(() => undefined)
    await page.reload()
    await page.getByRole('link', { name: 'scrape' }).first().click()
    const labels = page.locator('.timeline-label')
    await labels.first().waitFor()
    await expect
      .poll(() => labels.first().textContent())
      .toMatch(/^[a-z]{3}-\d · Error: the socket was reset$/)
    await expect.poll(() => page.locator('.timeline-ticks > span').first().textContent()).toBe('0 s')
  })

  it('moves to the previous and the next session of the filter', async () => {
    const { page } = await openTab('/sessions?operation=gemini')
    const links = page.getByRole('region', { name: 'Sessions' }).getByRole('link', { name: 'gemini' })
    await links.first().waitFor()
    const ids = await links.evaluateAll((all) => all.map((link) => link.getAttribute('title')))
    expect(ids.length).toBeGreaterThan(1)
    await links.first().click()
    const idInUrl = () => new URL(page.url()).searchParams.get('id')
    await page.getByRole('link', { name: '← Previous session' }).click()
    await expect.poll(idInUrl).toBe(ids[1])
    await page.getByRole('link', { name: 'Next session →' }).click()
    await expect.poll(idInUrl).toBe(ids[0])
    await page.getByText('Next session →').waitFor()
    expect(await page.getByRole('link', { name: 'Next session →' }).count()).toBe(0)
  })

  it('cancels a running call', async () => {
    const { page, testServer } = await openTab('/sessions?active=true')
    await page.getByRole('link', { name: 'patient' }).click()
    await page.getByText('backoff before attempt 2').waitFor()
    await page.getByRole('region', { name: 'Call' }).getByText('running').waitFor()
    await page.getByRole('button', { name: 'Cancel the call' }).click()
    await confirm(page, 'Cancel the call', 'no longer needed')
    await page.getByText('The call was cancelled.').waitFor()
    expect((await testServer.hf.sessions.list({ active: true })).items).toEqual([])
  })

  it('shows that a session was not found', async () => {
    const { page } = await openTab('/sessions?id=gone.with_1_2')
    await page.getByText('session gone.with_1_2 not found').waitFor()
  })

  it('shows the status of a response that counted as a failure', async () => {
    const { page } = await openTab('/sessions?operation=gemini', {
      before: (opened) =>
        opened.route(/\/sessions\/gemini/, async (route) => {
          const session = await (await route.fetch()).json()
          const attempts = session.attempts.map((attempt: object) => ({
            ...attempt,
            outcome: 'failure',
            error: null,
            status_code: 403,
          }))
          await route.fulfill({
            json: { ...session, attempts, final_error: null, stopped: 'unwanted_value' },
          })
        }),
    })
    await page.getByRole('link', { name: 'gemini' }).first().click()
    await page.getByText('The caller received the last response: status 403.').waitFor()
    expect(await page.getByText('succeeded').count()).toBe(0)
  })

  it('stays a table at 768 pixels', async () => {
    const { page } = await openTab('/sessions', { context: { viewport: { width: 768, height: 900 } } })
    const row = page.getByRole('region', { name: 'Sessions' }).locator('tbody tr').first()
    expect(await row.evaluate((each) => getComputedStyle(each).display)).toBe('table-row')
  })
})
