import { revokeToken } from '@holdfast/server'
import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

inBrowser('access to the dashboard', () => {
  it('requires a token and stores it only in the tab', async () => {
    const { page, house, another } = await openTab('/breakers', { tokens: true })
    await page.getByRole('heading', { name: 'A token is required' }).waitFor()
    await page.getByLabel('Token').fill('hft_wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Unknown token').waitFor()
    await page.getByLabel('Token').fill(house.tokens.viewer)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Breakers' }).waitFor()
    await page.locator('.pulse.live').waitFor()
    await page.reload()
    await page.getByText('service:gemini').waitFor()
    expect(page.url()).not.toContain(house.tokens.viewer)
    const second = await another('/')
    await second.getByRole('heading', { name: 'A token is required' }).waitFor()
  })

  it('shows each role only the actions that it is allowed', async () => {
    const { house, another } = await openTab('/', { tokens: true })
    const as = async (role: 'viewer' | 'operator' | 'admin') => {
      const page = await another('/breakers')
      await page.getByLabel('Token').fill(house.tokens[role])
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.locator('.role', { hasText: role }).waitFor()
      await page.getByText('service:gemini').waitFor()
      const resets = await page.getByRole('button', { name: /^Reset / }).count()
      await page.getByRole('link', { name: 'Policies' }).click()
      await page.getByRole('link', { name: 'gmail_fetch' }).waitFor()
      const makes = await page.getByLabel('Id of the new policy').count()
      await page.getByRole('link', { name: 'gmail_fetch' }).click()
      await page.getByLabel('Max attempts, including the first').waitFor()
      const saves = await page.getByRole('button', { name: 'Save' }).count()
      await page.getByRole('link', { name: 'Pools' }).click()
      await page.getByRole('link', { name: 'ams-1' }).waitFor()
      const drains = await page.getByRole('button', { name: /^(Drain|Remove|Add) / }).count()
      await page.getByRole('link', { name: 'Dead letters' }).click()
      await page.getByRole('link', { name: 'page-1' }).waitFor()
      const replays = await page.getByRole('button', { name: /Replay|Delete/ }).count()
      await page.getByRole('link', { name: 'Settings' }).click()
      await page.getByText('"version"').waitFor()
      const reloads = await page.getByRole('button', { name: 'Reload file' }).count()
      const operator = [resets, drains, replays].map((buttons) => buttons > 0)
      return { operator, admin: [makes, saves, reloads].map((buttons) => buttons > 0) }
    }
    const [no, yes] = [Array.from({ length: 3 }, () => false), Array.from({ length: 3 }, () => true)]
    expect(await as('viewer')).toEqual({ operator: no, admin: no })
    expect(await as('operator')).toEqual({ operator: yes, admin: no })
    expect(await as('admin')).toEqual({ operator: yes, admin: yes })
  })

  it('asks for a token again after the token was revoked', async () => {
    const { page, house } = await openTab('/audit', { tokens: true })
    await page.getByLabel('Token').fill(house.tokens.viewer)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await revokeToken(house.hf, 'the-viewer')
    // The event stream can report the revocation before the click, and then the link is gone.
    const asked = page.getByText('Unknown token').waitFor()
    const clicked = page.getByRole('link', { name: 'Errors' }).click()
    await Promise.any([asked, clicked])
    clicked.catch(() => {})
    await asked
  })

  it('asks for a token again after it was deleted from the tab', async () => {
    const { page, house } = await openTab('/settings', { tokens: true })
    await page.getByLabel('Token').fill(house.tokens.admin)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Delete the token from this tab' }).click()
    await page.getByRole('heading', { name: 'A token is required' }).waitFor()
    expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain('hft_')
  })
})
