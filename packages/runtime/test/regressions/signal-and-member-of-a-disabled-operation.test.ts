import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

it('run: a call of a disabled operation gets its signal and its pool member', async () => {
  const { hf } = await start({
    policies: { default: { enabled: false } },
    pools: { p: { members: [{ id: 'm', url: 'http://127.0.0.1:9' }] } },
  })
  const controller = new AbortController()
  const hangs = hf
    .run('op', () => new Promise(() => {}), { signal: controller.signal })
    .catch((error) => error)
  controller.abort(new Error('enough'))
  expect(await hangs).toMatchObject({ message: 'enough' })
  expect(await hf.run('op', async ({ member }) => member?.id, { pool: 'p' })).toBe('m')
})
