import { revokeToken } from '@holdfast/server'
import { systemClock } from 'holdfast/internal'
import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab, signIn } from '../tab.js'

inBrowser('access to the dashboard', () => {
  it('signs in with one request for each attempt, and keeps the token in no storage of the page', async () => {
    const { page, testServer, another } = await openTab('/breakers', { tokens: true })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const attempts: string[] = []
    page.on('request', (request) => attempts.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await signIn(page, 'hft_wrong')
    await page.getByText('Invalid or revoked token.').waitFor()
    expect(attempts).toEqual(['POST /api/v1/access/session'])
    await signIn(page, testServer.tokens.viewer)
    await page.getByRole('heading', { name: 'Breakers' }).waitFor()
    expect(attempts.filter((one) => one.startsWith('POST'))).toHaveLength(2)
    await page.locator('.pulse.live').waitFor()
    await page.reload()
    await page.getByText('service:gemini').waitFor()
    const [cookie] = (await page.context().cookies()).filter(({ name }) =>
      name.endsWith(new URL(testServer.url).port),
    )
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', expires: -1 })
    expect(
      await page.evaluate(() => document.cookie + JSON.stringify([sessionStorage, localStorage])),
    ).not.toMatch(/hft_|holdfast_\d/)
    expect(page.url()).not.toContain(testServer.tokens.viewer)
    const otherBrowser = await another('/')
    await otherBrowser.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('shows the form with the seconds to wait after too many wrong tokens', async () => {
    const { page, testServer } = await openTab('/', { tokens: true, quiet: true })
    // Without the page, because the limit counts the wrong tokens of a minute.
    for (let attempt = 1; attempt <= 10; attempt++) {
      const headers = { authorization: `Bearer hft_wrong${attempt}` }
      await fetch(`${testServer.url}/api/v1/access`, { headers })
    }
    await signIn(page, 'hft_wrong11')
    await page.getByText('Too many wrong tokens from this address.').waitFor()
    const wait = page.getByText(/^Next attempt in \d+ s\.$/)
    const first = await wait.textContent()
    await expect.poll(() => wait.textContent()).not.toBe(first)
    await expect.poll(() => page.getByRole('button', { name: 'Sign in' }).isDisabled()).toBe(true)
    await expect.poll(() => page.getByLabel('Token').inputValue()).toBe('hft_wrong11')
    expect(testServer.tokens.viewer).not.toBe('')
  })

  it('stays signed in on the device, in new tabs too, until the user signs out', async () => {
    const { page, testServer } = await openTab('/', { tokens: true, quiet: true, context: {} })
    await page.getByLabel('Keep me signed in on this device').check()
    await signIn(page, testServer.tokens.admin)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const [cookie] = await page.context().cookies()
    expect((cookie?.expires ?? 0) * 1000).toBeGreaterThan(systemClock.wall() + 29 * 86_400_000)
    const second = await page.context().newPage()
    await second.goto(`${testServer.url}/breakers?q=postgres`)
    // A change with the cookie, which needs the CSRF token.
    await second.getByRole('button', { name: 'Trip service:postgres' }).click()
    await confirm(second, 'Trip')
    await second.locator('.breaker.open', { hasText: 'service:postgres' }).waitFor()
    await second.getByRole('button', { name: 'Sign out' }).click()
    await second.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.context().cookies()).toEqual([])
    // The event stream of the other tab ends with the sign-in.
    await page.getByText('You were signed out').waitFor()
  })

  it('makes a change after a sign-in in another tab', async () => {
    const { page, testServer } = await openTab('/breakers?q=postgres', {
      tokens: true,
      quiet: true,
      context: {},
    })
    await signIn(page, testServer.tokens.admin)
    await page.getByRole('button', { name: 'Trip service:postgres' }).waitFor()
    // The cookie of another sign-in has another CSRF token.
    const response = await page.context().request.post(`${testServer.url}/api/v1/access/session`, {
      headers: { authorization: `Bearer ${testServer.tokens.operator}` },
    })
    expect(response.status()).toBe(201)
    await page.getByRole('button', { name: 'Trip service:postgres' }).click()
    await confirm(page, 'Trip')
    await page.locator('.breaker.open', { hasText: 'service:postgres' }).waitFor()
    const { items } = await testServer.hf.audit.list({ action: 'breaker.trip' })
    expect(items.map(({ actor }) => actor)).toEqual(['the-operator'])
  })

  it('shows each role only the actions that it is allowed', async () => {
    const { testServer, another } = await openTab('/', { tokens: true })
    const as = async (role: 'viewer' | 'operator' | 'admin') => {
      const page = await another('/breakers')
      await signIn(page, testServer.tokens[role])
      await page.locator('.role', { hasText: role }).waitFor()
      await page.getByText('service:gemini').waitFor()
      const resets = await page.getByRole('button', { name: /^Reset / }).count()
      await page.getByRole('link', { name: 'Policies' }).click()
      await page.getByRole('link', { name: 'gmail_fetch' }).waitFor()
      const makes = await page.getByText('Create policy', { exact: true }).count()
      await page.getByRole('link', { name: 'gmail_fetch' }).click()
      await page.getByLabel(/^Max attempts/).waitFor()
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

  it('shows the form after the token was revoked', async () => {
    const { page, testServer } = await openTab('/audit', { tokens: true })
    await signIn(page, testServer.tokens.viewer)
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    await revokeToken(testServer.hf, 'the-viewer')
    // The event stream can report the revocation before the click, and then the link is gone.
    const asked = page.getByText('You were signed out').waitFor()
    const clicked = page.getByRole('link', { name: 'Errors' }).click()
    await Promise.any([asked, clicked])
    clicked.catch(() => {})
    await asked
  })
})

inBrowser('the tokens page', () => {
  it('creates a token whose secret is shown once, and revokes it', async () => {
    const { page, testServer } = await openTab('/tokens', { tokens: true, quiet: true, context: {} })
    await signIn(page, testServer.tokens.admin)
    await page.getByRole('row', { name: /the-viewer/ }).waitFor()
    await page.getByLabel('Name').fill('grafana')
    await page.getByLabel('Role').selectOption('operator')
    await page.getByRole('button', { name: 'Create token' }).click()
    await confirm(page, 'Create', 'a wall display')
    const shown = page.getByRole('region', { name: 'Token grafana' }).locator('code')
    const token = (await shown.textContent()) ?? ''
    expect(token).toMatch(/^hft_/)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy token' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token)
    const ask = () =>
      fetch(`${testServer.url}/api/v1/access`, { headers: { authorization: `Bearer ${token}` } })
    expect(await (await ask()).json()).toMatchObject({ name: 'grafana', role: 'operator' })
    await page.reload()
    await page.getByRole('row', { name: /grafana/ }).waitFor()
    expect(await page.content()).not.toContain('hft_')
    await page.getByRole('button', { name: 'Revoke grafana' }).click()
    await confirm(page, 'Revoke', 'it leaked')
    await page.getByRole('row', { name: /grafana/ }).waitFor({ state: 'detached' })
    expect((await ask()).status).toBe(401)
    const { items } = await testServer.hf.audit.list({ target: 'grafana' })
    expect(items.map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
      ['token.revoke', 'the-admin', 'it leaked'],
      ['token.create', 'the-admin', 'a wall display'],
    ])
  })

  it('signs in with the first token, so that its secret can be copied', async () => {
    const { page } = await openTab('/tokens', { quiet: true, context: {} })
    await page.getByText('No tokens').waitFor()
    await page.getByLabel('Name').fill('ann')
    await page.getByRole('button', { name: 'Create token' }).click()
    await confirm(page, 'Create')
    await page.getByRole('region', { name: 'Token ann' }).getByText(/^hft_/).waitFor()
    await page.getByRole('row', { name: /ann admin/ }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('is not in the menu of other roles', async () => {
    const { page, testServer } = await openTab('/tokens', { tokens: true, quiet: true, context: {} })
    await signIn(page, testServer.tokens.operator)
    await page.getByText('Only callers with the role admin can see tokens.').waitFor()
    expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0)
  })
})
