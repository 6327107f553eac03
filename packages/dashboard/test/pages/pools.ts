import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the pools page', () => {
  it('shows the members without their credentials', async () => {
    const { page } = await openTab('/pools')
    await page.getByRole('link', { name: 'ams-1' }).waitFor()
    const table = page.getByRole('region', { name: 'Members of proxies' }).last()
    const shown = (await table.textContent()) ?? ''
    expect(shown).toContain('http://127.0.0.1:9001')
    expect(shown).not.toContain('secret')
    await expect.poll(() => page.getByRole('row', { name: /syd-8/ }).textContent()).toContain('open')
  })

  it('adds, drains, enables and removes a member', async () => {
    const { page, testServer } = await openTab('/pools?id=proxies')
    await page.getByRole('button', { name: 'Add a member' }).click()
    await page.getByLabel('URL of the new member').fill('ftp://nowhere')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('URL of the new member').fill('http://user:hunter2@10.9.8.7:3128')
    await page.getByRole('textbox', { name: 'Member ID' }).fill('new-9')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByText('new-9 was added to proxies.').waitFor()
    expect(await page.content()).not.toContain('hunter2')

    await page.getByRole('button', { name: 'Drain new-9' }).click()
    await confirm(page, 'Drain')
    await page.getByRole('row', { name: /new-9/ }).getByText('drained').waitFor()
    await page.getByRole('button', { name: 'Enable new-9' }).click()
    await confirm(page, 'Enable')
    await page.getByRole('row', { name: /new-9/ }).getByText('available').waitFor()
    await page.getByRole('button', { name: 'Remove new-9' }).click()
    await confirm(page, 'Remove')
    await page.getByRole('row', { name: /new-9/ }).waitFor({ state: 'detached' })
    expect(testServer.hf.pools.get('proxies').members()).toHaveLength(8)
  })

  it('keeps loaded members when the list is refreshed', async () => {
    const { page, testServer } = await openTab('/pools?id=crowd', { quiet: true, breakers: 120 })
    await expect.poll(() => page.title()).toBe('crowd · Pools · Holdfast')
    await page.getByText('50 shown.').waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('100 shown.').waitFor()
    await testServer.hf.pools.addMember('crowd', { id: 'a-new', url: 'http://10.9.9.9:8080' })
    await testServer.hf.pools.changeMember('crowd', 'm00001', { draining: true })
    await page.getByText('121 members').waitFor()
    await page
      .getByRole('row', { name: /m00001/ })
      .getByText('drained')
      .waitFor()
    await expect.poll(() => page.getByText('100 shown.').count()).toBe(1)
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('121 shown.').waitFor()
    await page.getByRole('link', { name: 'a-new' }).waitFor()
  })

  it('sorts members, shows totals and stays a table at 768 pixels', async () => {
    const { page } = await openTab('/pools?id=proxies', {
      context: { viewport: { width: 768, height: 900 } },
    })
    const rows = page.getByRole('region', { name: 'Members of proxies' }).last().locator('tbody tr')
    await page.getByRole('button', { name: /^Member/ }).click()
    await expect.poll(() => rows.first().textContent()).toContain('ams-1')
    await page.getByRole('button', { name: /^Member/ }).click()
    await expect.poll(() => rows.first().textContent()).toContain('syd-8')
    expect(await rows.first().evaluate((each) => getComputedStyle(each).display)).toBe('table-row')
    await page.locator('tfoot').getByText('Total').waitFor()
    await page.goBack()
    await expect.poll(() => rows.first().textContent()).toContain('ams-1')
  })
})
