import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

inBrowser('access', () => {
  it('asks for a token where one is needed, and keeps it for the tab alone', async () => {
    const { page, house, another } = await openTab('/breakers', { tokens: true })
    await page.getByRole('heading', { name: 'A token is needed' }).waitFor()
    await page.getByLabel('Token').fill('hft_wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('This token is not known').waitFor()
    await page.getByLabel('Token').fill(house.tokens.viewer)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Breakers' }).waitFor()
    await page.locator('.pulse.live').waitFor()
    await page.reload()
    await page.getByText('service:gemini').waitFor()
    expect(page.url()).not.toContain(house.tokens.viewer)
    const second = await another('/')
    await second.getByRole('heading', { name: 'A token is needed' }).waitFor()
  })

  it('shows each role only what it may do', async () => {
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
      const makes = await page.getByLabel('Id of a new policy').count()
      await page.getByRole('link', { name: 'gmail_fetch' }).click()
      await page.getByLabel('Attempts, the first included').waitFor()
      const saves = await page.getByRole('button', { name: 'Save' }).count()
      return { resets: resets > 0, makes: makes > 0, saves: saves > 0 }
    }
    expect(await as('viewer')).toEqual({ resets: false, makes: false, saves: false })
    expect(await as('operator')).toEqual({ resets: true, makes: false, saves: false })
    expect(await as('admin')).toEqual({ resets: true, makes: true, saves: true })
  })

  it('asks again when a token is revoked or forgotten', async () => {
    const { page, house } = await openTab('/settings', { tokens: true })
    await page.getByLabel('Token').fill(house.tokens.admin)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Forget the token' }).click()
    await page.getByRole('heading', { name: 'A token is needed' }).waitFor()
    expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain('hft_')
  })
})
