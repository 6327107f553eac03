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

  it('are edited in all their parts, and what is emptied is gone', async () => {
    const { page, house } = await openTab('/policies?id=fetch')
    const save = page.getByRole('button', { name: 'Save' })
    await page.getByLabel('Calls that may wait').fill('8')
    await page.getByText('is not there, takes a whole number from 1').waitFor()
    expect(await page.getByLabel('Calls at a time').getAttribute('aria-invalid')).toBe('true')
    expect(await save.isDisabled()).toBe(true)
    await page.getByLabel('Calls at a time').fill('4')
    await page.getByLabel('Join an attempt silent for, s').fill('250ms')
    await page.getByLabel('Retries for each call').fill('-1')
    await page.getByText('got -1, takes a number from 0').waitFor()
    await page.getByLabel('Retries for each call').fill('0.5')
    await page.getByLabel('For the call, s').fill('')
    await page.getByText('got -1').waitFor({ state: 'detached' })
    await save.click()
    const diff = await page.getByRole('list', { name: 'What will change' }).textContent()
    expect(diff).toContain('bulkhead limitnone→4')
    expect(diff).toContain('hedge delaynone→250 ms')
    await confirm(page, 'Save')
    await page.getByText('fetch is saved.').waitFor()
    const policy = await house.hf.policies.get('fetch')
    expect(policy).toMatchObject({
      bulkhead: { limit: 4, queue: 8 },
      hedge: { delay: 250, max: 1 },
      budget: { ratio: 0.5, reservePerSecond: 10, window: 10_000 },
    })
    expect(policy.totalTimeout).toBeUndefined()
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
