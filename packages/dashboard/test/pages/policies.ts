import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the policies page', () => {
  it('validates and draws a policy while the user types, and saves it with a diff and a history entry', async () => {
    const { page, house, complaints } = await openTab('/policies')
    await page.getByRole('link', { name: 'fetch', exact: true }).click()
    const attempts = page.getByLabel('Max attempts, including the first')
    const drawing = page.getByRole('img', { name: /^Waits:/ })
    expect(await drawing.getAttribute('aria-label')).toContain('before attempt 4 400 ms to 800 ms')
    await page.getByText('from the policy in the file').first().waitFor()

    await attempts.fill('many')
    await page.locator('.field-problem', { hasText: '"many"' }).waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await attempts.fill('6')
    await page.getByRole('img', { name: /before attempt 6 1\.6 s to 3\.2 s/ }).waitFor()
    await page.locator('.field-problem').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save' }).click()
    expect(await page.getByRole('dialog').getByRole('list', { name: 'Changes to save' }).textContent()).toBe(
      'max attempts4→6',
    )
    await confirm(page, 'Save', 'the site is slow')
    await page.getByText('fetch was saved.').waitFor()
    expect((await house.hf.policies.get('fetch')).maxAttempts).toBe(6)
    await page.getByText('the site is slow').waitFor()
    expect(await page.getByRole('list', { name: 'Changed fields' }).textContent()).toBe('max attempts4→6')
    await page.getByText('from a change through the API').waitFor()
    expect(complaints).toEqual([])
  })

  it('edits nested fields and removes values that are emptied', async () => {
    const { page, house } = await openTab('/policies?id=fetch')
    const save = page.getByRole('button', { name: 'Save' })
    await page.getByLabel('Max queued calls').fill('8')
    await page.locator('.field-problem', { hasText: 'from 1' }).waitFor()
    expect(await page.getByLabel('Max concurrent calls').getAttribute('aria-invalid')).toBe('true')
    expect(await save.isDisabled()).toBe(true)
    await page.getByLabel('Max concurrent calls').fill('4')
    await page.getByLabel('Hedge after, s').fill('250ms')
    await page.getByLabel('Retries per call').fill('-1')
    await page.locator('.field-problem', { hasText: '-1' }).waitFor()
    await page.getByLabel('Retries per call').fill('0.5')
    await page.getByLabel('Total timeout, s').fill('')
    await page.locator('.field-problem').waitFor({ state: 'detached' })
    await save.click()
    const diff = await page.getByRole('list', { name: 'Changes to save' }).textContent()
    expect(diff).toContain('bulkhead limitnone→4')
    expect(diff).toContain('hedge delaynone→250 ms')
    await confirm(page, 'Save')
    await page.getByText('fetch was saved.').waitFor()
    const policy = await house.hf.policies.get('fetch')
    expect(policy).toMatchObject({
      bulkhead: { limit: 4, queue: 8 },
      hedge: { delay: 250, max: 1 },
      budget: { ratio: 0.5, reservePerSecond: 10, window: 10_000 },
    })
    expect(policy.totalTimeout).toBeUndefined()
  })

  it('rejects saving a policy that was changed in the meantime', async () => {
    const { page, house } = await openTab('/policies?id=scrape')
    await page.getByLabel('Max attempts, including the first').fill('9')
    await house.hf.policies.put({ id: 'scrape', maxAttempts: 2 }, { by: 'another user' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('The policy was changed in the meantime').waitFor()
    expect((await house.hf.policies.get('scrape')).maxAttempts).toBe(2)
  })

  it('creates and deletes a policy', async () => {
    const { page, house } = await openTab('/policies')
    await page.getByLabel('Id of the new policy').fill('night')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByLabel('Max attempts, including the first').fill('7')
    await page.getByRole('button', { name: 'Create' }).click()
    await confirm(page, 'Save')
    await page.getByRole('heading', { name: 'night', exact: true }).waitFor()
    expect((await house.hf.policies.get('night')).maxAttempts).toBe(7)
    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm(page, 'Delete')
    await page.getByText('night was deleted.').waitFor()
    await page.getByRole('link', { name: 'gmail_fetch' }).waitFor()
    expect(await page.getByRole('link', { name: 'night' }).count()).toBe(0)
  })
})
