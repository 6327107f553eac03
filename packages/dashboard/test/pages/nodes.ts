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

  it('are shown even where events come quicker than answers', async () => {
    const { page, house } = await openTab('/audit', { quiet: true })
    await page.locator('.pulse.live').waitFor()
    const network = await page.context().newCDPSession(page)
    await network.send('Network.enable')
    await page.route('**/api/v1/nodes', async (route) => {
      const heard = new Promise((resolve) => network.once('Network.dataReceived', resolve))
      await house.hf.breakers.trip('service:postgres', { by: 'somebody' })
      await house.hf.breakers.reset('service:postgres', { by: 'somebody' })
      await heard
      // The page tells its views of events a few times a second.
      await page.waitForTimeout(400)
      // It may have given up on this answer.
      await route.continue().catch(() => undefined)
    })
    await page.getByRole('link', { name: 'Nodes' }).click()
    await page.getByRole('row', { name: /this one/ }).waitFor()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  it.skipIf(missing !== undefined)(
    'go on alone while their Redis is away, and the page says so',
    async () => {
      const redis = await RealRedis.start()
      onTestFinished(() => redis.kill())
      const config = { version: '1.1.0', shared: redis.url } as const
      const other = await Holdfast.open({ config, env: {}, watch: false })
      onTestFinished(() => other.close())
      const { page, house } = await openTab('/nodes', { quiet: true, shared: redis.url })
      await page.getByRole('heading', { name: '2 nodes' }).waitFor()
      await page.locator('.pulse.live').waitFor()

      await redis.kill()
      await page.getByText('Shared state is lost').waitFor()
      await page.getByRole('heading', { name: '1 node', exact: true }).waitFor()
      await house.hf.run('gmail_fetch', () => 'fine')
      await page.getByRole('link', { name: 'Breakers' }).click()
      await page.getByText('Shared state is lost').waitFor()

      await redis.up()
      await page.getByText('Shared state is lost').waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Nodes' }).click()
      await page.getByRole('heading', { name: '2 nodes' }).waitFor()
    },
  )
})
