import { expect, it } from 'vitest'
import { confirm, inBrowser, openTab } from '../tab.js'

inBrowser('the page of a breaker', () => {
  it('shows why it opened, its settings, its transitions and the operations that depend on it', async () => {
    const { page, complaints } = await openTab('/breakers?id=service%3Agemini')
    const panel = (name: string) => page.getByRole('region', { name, exact: true }).first()
    await panel('Why it opened').getByText('It opened after 4 failures.').waitFor()
    const errors = page.getByRole('region', { name: 'Last errors before it opened' })
    await expect.poll(() => errors.locator('tbody tr').count()).toBeGreaterThan(3)
    await errors.getByRole('link', { name: 'gemini', exact: true }).first().waitFor()
    await panel('Affected operations').getByRole('link', { name: 'gemini', exact: true }).waitFor()
    await panel('Settings').getByText('4 consecutive failures').waitFor()
    await panel('Settings').getByText('30 min').waitFor()
    await expect.poll(() => panel('State').locator('dl').textContent()).toMatch(/Next probe.*Times opened1/s)
    await panel('Transitions').locator('tr', { hasText: 'closed' }).getByText('open').waitFor()
    await panel('Breaker state by node').locator('tr', { hasText: 'this node' }).getByText('open').waitFor()
    await expect.poll(() => page.title()).toBe('service:gemini · Breakers · Holdfast')
    expect(complaints).toEqual([])
  })

  it('shows only the errors of a member on the page of its breaker', async () => {
    const { page, testServer } = await openTab('/breakers', { quiet: true })
    for (let calls = 0; calls < 6; calls++) await testServer.call('scrape', 9, { pool: 'proxies' })
    const opened = (await testServer.hf.breakers.list({ pool: 'proxies' })).find(
      ({ state }) => state !== 'closed',
    )
    const id = opened?.id ?? 'pool:proxies:ams-1'
    await testServer.hf.breakers.trip(id, { by: 'ops' })
    await page.goto(`${testServer.url}/breakers?id=${encodeURIComponent(id)}`)
    await page.getByText('Operations that use the pool of this member').waitFor()
    const { items } = await testServer.hf.sessions.list({ operation: 'scrape' })
    const member = id.slice('pool:proxies:'.length)
    const failed = items
      .flatMap(({ attempts }) => attempts)
      .filter(({ proxyId, outcome }) => proxyId === member && ['failure', 'timeout'].includes(outcome)).length
    const rows = page.getByRole('region', { name: 'Last errors before it opened' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(Math.min(10, failed))
  })

  it('trips it for a duration or until it is reset, and shows who did', async () => {
    const { page, testServer } = await openTab('/breakers?id=service%3Apostgres')
    await page.getByRole('button', { name: 'Trip', exact: true }).click()
    await page.getByLabel('Keep open').selectOption('for 15 min')
    await confirm(page, 'Trip', 'moving the database')
    await page.getByText('It stays open for 15 min.').waitFor()
    await page.getByText(/tripped it .*moving the database/).waitFor()
    expect(await testServer.hf.breakers.get('service:postgres')).toMatchObject({ tripDuration: 900_000 })
    await page.getByRole('button', { name: 'Trip', exact: true }).click()
    await page.getByLabel('Keep open').selectOption('until it is reset')
    await confirm(page, 'Trip')
    await page.getByText('It stays open until it is reset.').waitFor()
    await page.getByRole('button', { name: 'Reset', exact: true }).click()
    await confirm(page, 'Reset')
    await page.getByText('Failures in the window').waitFor()
  })

  it('reports a breaker that does not exist', async () => {
    const { page } = await openTab('/breakers?id=service%3Anone')
    await page.getByText('breaker service:none not found').waitFor()
  })
})
