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
    expect(await timeline.getByText(/^attempt \d$/).allTextContents()).toEqual(['attempt 1', 'attempt 2'])
    await page.getByText('attempts spent').waitFor()
    const shared = page.url()
    await page.goBack()
    await page.goto(shared)
    await timeline.waitFor()
  })

  it('cancels a running call', async () => {
    const { page, house } = await openTab('/sessions?active=true')
    await page.getByRole('link', { name: 'patient' }).click()
    await page.getByText('wait before 2').waitFor()
    await page.getByRole('button', { name: 'Cancel the call' }).click()
    await confirm(page, 'Cancel the call', 'no longer needed')
    await page.getByText('The call was cancelled.').waitFor()
    expect((await house.hf.sessions.list({ active: true })).items).toEqual([])
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
})
