import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the policies', () => {
  it('are edited: checked by the server, drawn as one types, saved with a difference and kept in the history', async () => {
    const { page, house, complaints } = await openTab('/policies')
    await page.getByRole('link', { name: 'fetch', exact: true }).click()
    const attempts = page.getByLabel('Attempts, the first included')
    const drawing = page.getByRole('img', { name: /^Waits:/ })
    expect(await drawing.getAttribute('aria-label')).toContain('before attempt 4 400 ms to 800 ms')
    await page.getByText('from the policy in the file').first().waitFor()

    await attempts.fill('many')
    await page.getByText('got "many", takes a whole number from 1').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await attempts.fill('6')
    await page.getByRole('img', { name: /before attempt 6 1\.6 s to 3\.2 s/ }).waitFor()
    await page.getByText('got "many"').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save' }).click()
    expect(await page.getByRole('dialog').getByRole('list', { name: 'What will change' }).textContent()).toBe(
      'max attempts4→6',
    )
    await confirm(page, 'Save', 'the site is slow')
    await page.getByText('fetch is saved.').waitFor()
    expect((await house.hf.policies.get('fetch')).maxAttempts).toBe(6)
    await page.getByText('the site is slow').waitFor()
    expect(await page.getByRole('list', { name: 'What changed' }).textContent()).toBe('max attempts4→6')
    await page.getByText('from a change through the API').waitFor()
    expect(complaints).toEqual([])
  })

  it('are not overwritten unseen', async () => {
    const { page, house } = await openTab('/policies?id=scrape')
    await page.getByLabel('Attempts, the first included').fill('9')
    await house.hf.policies.put({ id: 'scrape', maxAttempts: 2 }, { by: 'somebody' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody changed it meanwhile').waitFor()
    expect((await house.hf.policies.get('scrape')).maxAttempts).toBe(2)
  })

  it('are made and deleted', async () => {
    const { page, house } = await openTab('/policies')
    await page.getByLabel('Id of a new policy').fill('night')
    await page.getByRole('button', { name: 'Make it' }).click()
    await page.getByLabel('Attempts, the first included').fill('7')
    await page.getByRole('button', { name: 'Create' }).click()
    await confirm(page, 'Save')
    await page.getByRole('heading', { name: 'night', exact: true }).waitFor()
    expect((await house.hf.policies.get('night')).maxAttempts).toBe(7)
    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm(page, 'Delete')
    await page.getByText('night is deleted.').waitFor()
    await page.getByRole('link', { name: 'gmail_fetch' }).waitFor()
    expect(await page.getByRole('link', { name: 'night' }).count()).toBe(0)
  })
})
