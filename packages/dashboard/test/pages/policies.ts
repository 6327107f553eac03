import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

/** The label of `max_attempts`. */
const ATTEMPTS = 'Max attempts (including the first)'

inBrowser('the policies page', () => {
  it('sorts the policies by a column and exports them as CSV', async () => {
    const { page } = await openTab('/policies', { quiet: true })
    const table = page.getByRole('region', { name: 'Policies', exact: true }).last()
    await table.getByRole('button', { name: 'Max attempts' }).click()
    await expect
      .poll(async () => {
        const attempts = (await table.locator('tbody td:nth-child(3)').allTextContents()).map(Number)
        return attempts.length > 1 && attempts.every((count, n) => n === 0 || count <= (attempts[n - 1] ?? 0))
      })
      .toBe(true)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ])
    const text = await readFile(await download.path(), 'utf8')
    expect(text).toMatch(/^id,name,max_attempts,delays,jitter,timeouts,breaker,state\r\n/)
    expect(text).toContain('gemini,Ask the model,2,immediate,')
    expect(text).toContain('"exponential, 200 ms to 5 s"')
  })

  it('validates and draws a policy while the user types, and saves it with a diff and a history entry', async () => {
    const { page, testServer, complaints } = await openTab('/policies')
    await page.getByRole('link', { name: 'fetch', exact: true }).click()
    const attempts = page.getByLabel(ATTEMPTS)
    const drawing = page.getByRole('img', { name: /^Waits:/ })
    await expect.poll(() => drawing.getAttribute('aria-label')).toContain('before attempt 4 400 ms to 800 ms')
    await page.getByText('From the policy in the file').first().waitFor()

    await attempts.fill('many')
    await page.locator('.field-problem', { hasText: '"many"' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await attempts.fill('6')
    await page.getByRole('img', { name: /before attempt 6 1\.6 s to 3\.2 s/ }).waitFor()
    await page.locator('.field-problem').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Takes effect immediately.').waitFor()
    await expect
      .poll(() => dialog.getByRole('list', { name: 'Changes to save' }).textContent())
      .toBe('max_attempts4→6')
    await confirm(page, 'Save', 'the site is slow')
    await page.getByText('fetch was saved.').waitFor()
    expect((await testServer.hf.policies.get('fetch')).maxAttempts).toBe(6)
    await page.getByText('the site is slow').waitFor()
    await expect
      .poll(() => page.getByRole('list', { name: 'Changed fields' }).textContent())
      .toBe('max_attempts4→6')
    await page.getByText('From a live change').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('labels every field with its config key and its meaning', async () => {
    const { page } = await openTab('/policies?id=fetch', { quiet: true })
    const labels = [
      ATTEMPTS,
      'Max delay (s)',
      'Respect Retry-After',
      'Jitter',
      'Jitter factor (0–1)',
      'Per attempt (s)',
      'Total (s)',
      'Retry only on',
      'Never retry on',
      'Dedicated breaker',
      'Failure threshold',
      'Open duration (s)',
      'Max concurrent calls',
      'Queue size',
      'Hedge after (s)',
      'Retry ratio',
      'Minimum retries per second',
      'Share across nodes',
      'Shadow mode (log only)',
    ]
    await page.getByLabel(ATTEMPTS).waitFor()
    for (const label of labels)
      expect([label, await page.locator('.field').getByLabel(label, { exact: true }).count()]).toEqual([
        label,
        1,
      ])
    await page.getByRole('region', { name: 'Timeouts' }).getByText('attempt_timeout').waitFor()
    const fields = page.locator('.field')
    await expect.poll(() => fields.locator('code').count()).toBe(await fields.count())
    await expect
      .poll(() => page.getByText('The maximum number of attempts, including the first.').count())
      .toBe(1)
    await page.getByRole('button', { name: 'Discard changes' }).waitFor()
  })

  it('states the total wait, for 500 attempts and unlimited attempts too', async () => {
    const { page } = await openTab('/policies?id=fetch', { quiet: true })
    await page.getByLabel('Base delay (s)').fill('100ms')
    await page.getByText('Total wait 700 ms (350–700 ms with jitter).').waitFor()
    await page.getByLabel(ATTEMPTS).fill('500')
    // Waits of 0.1, 0.2, 0.4, 0.8, 1.6 and 3.2 s, then 493 waits of 5 s.
    await page.getByText('Total wait 41 min 11 s (20 min 36 s–41 min 11 s with jitter).').waitFor()
    await page.getByText('The total timeout ends the call after 1 min.').waitFor()
    await page.getByText('The chart shows the first 20 of 499 waits.').waitFor()
    await page.getByLabel(ATTEMPTS).fill('Infinity')
    await page.getByText('Total wait unlimited').waitFor()
  })

  it('edits nested fields and removes values that are emptied', async () => {
    const { page, testServer } = await openTab('/policies?id=fetch')
    const save = page.getByRole('button', { name: 'Save' })
    await page.getByLabel('Queue size').fill('8')
    await page.locator('.field-problem', { hasText: 'from 1' }).waitFor()
    await expect.poll(() => page.getByLabel('Max concurrent calls').getAttribute('aria-invalid')).toBe('true')
    await expect.poll(() => save.isDisabled()).toBe(true)
    await page.getByLabel('Max concurrent calls').fill('4')
    await page.getByLabel('Hedge after (s)').fill('250ms')
    await page.getByLabel('Retry ratio').fill('-1')
    await page.locator('.field-problem', { hasText: '-1' }).waitFor()
    await page.getByLabel('Retry ratio').fill('0.5')
    await page.getByLabel('Total (s)').fill('')
    await page.locator('.field-problem').waitFor({ state: 'detached' })
    await save.click()
    const diff = await page.getByRole('list', { name: 'Changes to save' }).textContent()
    expect(diff).toContain('bulkhead.limitnone→4')
    expect(diff).toContain('hedge.delaynone→250 ms')
    await confirm(page, 'Save')
    await page.getByText('fetch was saved.').waitFor()
    const policy = await testServer.hf.policies.get('fetch')
    expect(policy).toMatchObject({
      bulkhead: { limit: 4, queue: 8 },
      hedge: { delay: 250, max: 1 },
      budget: { ratio: 0.5, reservePerSecond: 10, window: 10_000 },
    })
    expect(policy.totalTimeout).toBeUndefined()
  })

  it('shows the change of another user as a banner and merges it', async () => {
    const { page, testServer } = await openTab('/policies?id=scrape')
    await page.getByLabel(ATTEMPTS).fill('9')
    await page.getByLabel('Base delay (s)').fill('2')
    await testServer.hf.policies.put(
      { id: 'scrape', maxAttempts: 2, maxDelay: 60_000 },
      { by: 'ann', reason: 'fewer calls' },
    )
    const banner = page.getByRole('alert', { name: 'Changed by another user' })
    await banner.getByText('ann').waitFor()
    await banner.getByText('fewer calls').waitFor()
    const theirs = await banner.getByRole('list', { name: 'Changes of the other user' }).textContent()
    expect(theirs).toContain('max_attempts3→2')
    expect(theirs).toContain('max_delay30 s→1 min')
    await banner.getByText(`You both changed ${ATTEMPTS}.`).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await banner.getByRole('button', { name: 'Merge with my changes' }).click()
    await banner.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByLabel(ATTEMPTS).inputValue()).toBe('9')
    await expect.poll(() => page.getByLabel('Max delay (s)').inputValue()).toBe('60')
    await page.getByRole('button', { name: 'Save' }).click()
    await confirm(page, 'Save')
    await page.getByText('scrape was saved.').waitFor()
    expect(await testServer.hf.policies.get('scrape')).toMatchObject({
      maxAttempts: 9,
      baseDelay: 2000,
      maxDelay: 60_000,
    })
  })

  it('follows the change of another user while the form has no changes', async () => {
    const { page, testServer } = await openTab('/policies?id=scrape')
    await page.getByLabel(ATTEMPTS).waitFor()
    await testServer.hf.policies.put({ id: 'scrape', maxAttempts: 2 }, { by: 'ann' })
    await expect.poll(() => page.getByLabel(ATTEMPTS).inputValue()).toBe('2')
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('does not overwrite a change that was saved while the confirmation was open', async () => {
    const { page, testServer } = await openTab('/policies?id=scrape')
    await page.getByLabel(ATTEMPTS).fill('9')
    await page.getByRole('button', { name: 'Save' }).click()
    await testServer.hf.policies.put({ id: 'scrape', maxAttempts: 2 }, { by: 'ann' })
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Another user changed the policy').waitFor()
    expect((await testServer.hf.policies.get('scrape')).maxAttempts).toBe(2)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('alert', { name: 'Changed by another user' }).waitFor()
  })

  it('warns before unsaved changes are lost by a link, by Back and by closing the tab', async () => {
    const { page } = await openTab('/policies', { quiet: true })
    await page.getByRole('link', { name: 'fetch', exact: true }).click()
    const attempts = page.getByLabel(ATTEMPTS)
    await attempts.fill('9')
    const dialog = page.getByRole('dialog', { name: 'Discard changes?' })
    await page.getByRole('link', { name: 'Breakers' }).click()
    await dialog.getByText('This cannot be undone.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => attempts.inputValue()).toBe('9')

    await page.goBack()
    await dialog.waitFor()
    await expect.poll(() => page.url()).toContain('id=fetch')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => attempts.inputValue()).toBe('9')

    const closing = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    const warning = await closing
    expect(warning.type()).toBe('beforeunload')
    await warning.dismiss()

    await page.getByRole('link', { name: 'Breakers' }).click()
    await dialog.getByRole('button', { name: 'Discard changes' }).click()
    await page.getByRole('heading', { name: 'Breakers' }).waitFor()
    await page.goto(`${new URL(page.url()).origin}/policies?id=fetch`)
    await attempts.fill('9')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await page.getByRole('link', { name: 'Breakers' }).click()
    await page.getByRole('heading', { name: 'Breakers' }).waitFor()
  })

  it('disables the fields of the dedicated breaker while a shared breaker applies, and shows its values', async () => {
    const { page } = await openTab('/policies?id=gemini', { quiet: true })
    const dedicated = ['Dedicated breaker', 'Failure threshold', 'Open duration (s)']
    await page.getByLabel('Shared breaker', { exact: true }).waitFor()
    for (const label of dedicated)
      expect([label, await page.getByLabel(label, { exact: true }).isDisabled()]).toEqual([label, true])
    const values = page.getByLabel('Values of the shared breaker gemini')
    await expect
      .poll(() => values.textContent())
      .toBe('Failure threshold4WindowconsecutiveOpen duration30 minSuccesses to close1')
    await page.getByLabel('Shared breaker', { exact: true }).selectOption('')
    for (const label of dedicated)
      expect([label, await page.getByLabel(label, { exact: true }).isDisabled()]).toEqual([label, false])
    await values.waitFor({ state: 'detached' })
  })

  it('creates and deletes a policy, and reports an existing id while the user types', async () => {
    const { page, testServer } = await openTab('/policies')
    await page.getByRole('button', { name: 'Create policy' }).click()
    const create = page.getByRole('button', { name: 'Create policy' })
    const id = page.getByLabel('Policy ID')
    await id.fill('fetch')
    await page.getByText('A policy with this ID exists already.').waitFor()
    expect([await create.isDisabled(), await id.getAttribute('aria-invalid')]).toEqual([true, 'true'])
    await id.fill('night')
    await page.getByLabel(ATTEMPTS).fill('7')
    await create.click()
    await confirm(page, 'Create policy')
    await page.getByRole('heading', { name: 'night', exact: true }).waitFor()
    expect(await testServer.hf.policies.get('night')).toMatchObject({ maxAttempts: 7, name: 'night' })
    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm(page, 'Delete')
    await page.getByText('night was deleted.').waitFor()
    await page.getByRole('link', { name: 'gmail_fetch' }).waitFor()
    expect(await page.getByRole('link', { name: 'night' }).count()).toBe(0)
  })

  it('duplicates a policy', async () => {
    const { page, testServer } = await openTab('/policies?id=fetch', { quiet: true })
    await page.getByRole('button', { name: 'Duplicate' }).click()
    await page.getByLabel('Policy ID').fill('fetch_slow')
    await expect.poll(() => page.getByLabel(ATTEMPTS).inputValue()).toBe('4')
    await page.getByRole('button', { name: 'Create policy' }).click()
    await confirm(page, 'Create policy')
    await page.getByRole('heading', { name: 'fetch_slow', exact: true }).waitFor()
    expect(await testServer.hf.policies.get('fetch_slow')).toMatchObject({
      maxAttempts: 4,
      baseDelay: 200,
      name: 'fetch_slow',
    })
  })

  it('resets one field to the file and leaves the other live changes', async () => {
    const { page, testServer } = await openTab('/policies?id=fetch', { quiet: true })
    await testServer.hf.policies.put({ id: 'fetch', maxAttempts: 9, baseDelay: 500 }, { by: 'ann' })
    await page.getByRole('button', { name: 'Reset max_attempts to the file' }).click()
    await expect.poll(() => page.getByLabel(ATTEMPTS).inputValue()).toBe('4')
    await page.getByRole('button', { name: 'Save' }).click()
    await confirm(page, 'Save')
    await page.getByText('fetch was saved.').waitFor()
    expect(testServer.hf.config.layer.policies?.['fetch']).toEqual({ base_delay: 0.5 })
  })

  it('shows the YAML with the unsaved changes, and the operations that use the policy', async () => {
    const { page } = await openTab('/policies?id=browse', { quiet: true })
    const yaml = page.getByRole('region', { name: 'YAML of the policy' })
    await expect
      .poll(() => yaml.textContent())
      .toBe('policies:\n  browse:\n    name: Open pages\n    max_attempts: 3\n    backoff_type: immediate')
    await page.getByLabel('Max concurrent calls').fill('4')
    await expect.poll(() => yaml.textContent()).toContain('    bulkhead:\n      limit: 4\n      queue: 0')
    const users = page.getByRole('list', { name: 'Used by' })
    await users.getByText('for all other failures').waitFor()
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await users.getByRole('link', { name: 'browser.navigation' }).click()
    await page.getByRole('heading', { name: 'browser.navigation' }).waitFor()
  })
})
