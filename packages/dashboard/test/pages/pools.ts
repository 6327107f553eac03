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
    expect(await page.getByRole('row', { name: /syd-8/ }).textContent()).toContain('open')
  })

  it('adds, drains, enables and removes a member', async () => {
    const { page, house } = await openTab('/pools?id=proxies')
    await page.getByRole('button', { name: 'Add a member' }).click()
    await page.getByLabel('URL of the new member').fill('ftp://nowhere')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('URL of the new member').fill('http://user:hunter2@10.9.8.7:3128')
    await page.getByLabel('Id', { exact: true }).fill('new-9')
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
    expect(house.hf.pools.get('proxies').members()).toHaveLength(8)
  })
})
