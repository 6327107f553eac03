import { systemClock } from 'holdfast/engine'
import { expect, it } from 'vitest'
import { inBrowser, openTab } from '../tab.js'

const NOW = new Date(systemClock.wall()).toISOString()

const node = (id: string, version: string, opinions: Record<string, string> = {}) => ({
  id,
  version,
  started_at: NOW,
  last_seen: NOW,
  self: id === 'n1',
  opinions,
})

inBrowser('the nodes', () => {
  it('are this process alone where nothing is shared', async () => {
    const { page, complaints } = await openTab('/nodes')
    await page.getByRole('row', { name: /this one/ }).waitFor()
    await page.getByText('This process shares nothing').waitFor()
    const opinion = page.getByRole('row', { name: /service:gemini/ })
    expect(await opinion.textContent()).toContain('1 of 1')
    expect(complaints).toEqual([])
    await opinion.getByRole('link').click()
    await page.locator('.breaker.open', { hasText: 'service:gemini' }).waitFor()
  })

  it('are shown with what each thinks, and the page says when they have lost each other', async () => {
    let shared: object = { up: true }
    const items = [
      node('n1', '0.1.0', { 'service:a': 'open' }),
      node('n2', '0.2.0', { 'service:a': 'half_open' }),
    ]
    const { page } = await openTab('/nodes', {
      quiet: true,
      before: (opened) =>
        opened.route('**/api/v1/nodes', (route) => route.fulfill({ json: { items, shared } })),
    })
    await page.getByText('Versions differ: 0.1.0, 0.2.0').waitFor()
    expect(await page.getByRole('row', { name: /service:a/ }).textContent()).toContain('n1, n2')
    expect(await page.getByText('Shared state is lost').count()).toBe(0)
    shared = { up: false, lost_since: NOW }
    await page.goto(new URL('/breakers', page.url()).href)
    await page.getByText(/Shared state is lost: it was last there (now|.* ago)/).waitFor()
    await page.getByRole('link', { name: 'others' }).click()
    await page.getByRole('heading', { name: 'Nodes', exact: true }).waitFor()
  })
})
