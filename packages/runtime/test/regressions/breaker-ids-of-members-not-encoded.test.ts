import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

it('breakers: a member breaker is found by an id that is not percent-encoded', async () => {
  const { hf } = await start({ pools: { p: { members: [{ url: 'http://127.0.0.1:9001' }] } } })
  const id = 'pool:p:127.0.0.1%3A9001'
  expect(await hf.breakers.get('pool:p:127.0.0.1:9001')).toMatchObject({ id })
  expect(await hf.breakers.trip('pool:p:127.0.0.1:9001', { by: 'me' })).toMatchObject({ id, state: 'open' })
})
