import { Holdfast } from '@holdfast/runtime'
import { systemClock } from 'holdfast/internal'
import { expect, it, onTestFinished } from 'vitest'
import { missing, RealRedis } from '../../../fleet/test/redis.js'
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

inBrowser('the nodes page', () => {
  it('shows only this process without shared state', async () => {
    const { page, complaints } = await openTab('/nodes')
    await page.getByRole('row', { name: /this node/ }).waitFor()
    await page.getByText('This process does not share state').waitFor()
    const opinion = page.getByRole('row', { name: /service:gemini/ })
    await expect.poll(() => opinion.textContent()).toContain('1 of 1')
    expect(complaints).toEqual([])
    await opinion.getByRole('link').click()
    await page.getByRole('heading', { name: 'service:gemini' }).waitFor()
  })

  it('shows the states of each node, and a banner when the shared state is lost', async () => {
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
    await expect.poll(() => page.getByRole('row', { name: /service:a/ }).textContent()).toContain('n1, n2')
    expect(await page.getByText('The shared state cannot be reached').count()).toBe(0)
    shared = { up: false, lost_since: NOW }
    await page.goto(new URL('/breakers', page.url()).href)
    await page.getByText(/The shared state cannot be reached, connection lost (now|.* ago)/).waitFor()
    await page.getByRole('link', { name: 'fleet' }).click()
    await page.getByRole('heading', { name: 'Nodes', exact: true }).waitFor()
  })

  it('shows nodes even if events arrive faster than responses', async () => {
    const { page, testServer } = await openTab('/audit', { quiet: true })
    await page.locator('.pulse.live').waitFor()
    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    await page.route('**/api/v1/nodes', async (route) => {
      const heard = new Promise((resolve) => network.once('Network.dataReceived', resolve))
      await testServer.hf.breakers.trip('service:postgres', { by: 'another' })
      await testServer.hf.breakers.reset('service:postgres', { by: 'another' })
      await heard
      // The page handles events in batches, a few times a second.
      await page.waitForTimeout(400)
      // The page can have aborted this request.
      await route.continue().catch(() => undefined)
    })
    await page.getByRole('link', { name: 'Nodes' }).click()
    await page.getByRole('row', { name: /this node/ }).waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it.skipIf(missing !== undefined)('shows a banner while Redis cannot be reached, and recovers', async () => {
    const redis = await RealRedis.start()
    onTestFinished(() => redis.kill())
    const config = { version: '1.1.0', shared: redis.url } as const
    const other = await Holdfast.open({ config, env: {}, watch: false })
    onTestFinished(() => other.close())
    const { page, testServer } = await openTab('/nodes', { quiet: true, shared: redis.url })
    await page.getByRole('heading', { name: '2 nodes' }).waitFor()
    await page.locator('.pulse.live').waitFor()

    await redis.kill()
    await page.getByText('The shared state cannot be reached').waitFor()
    await page.getByRole('heading', { name: '1 node', exact: true }).waitFor()
    await testServer.hf.run('gmail_fetch', () => 'fine')
    await page.getByRole('link', { name: 'Breakers' }).click()
    await page.getByText('The shared state cannot be reached').waitFor()

    await redis.up()
    await page.getByText('The shared state cannot be reached').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Nodes' }).click()
    await page.getByRole('heading', { name: '2 nodes' }).waitFor()
  })
})
