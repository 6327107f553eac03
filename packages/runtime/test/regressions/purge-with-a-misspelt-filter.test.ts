import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

it('deadLetters.purge: rejects an unknown filter field and deletes nothing', async () => {
  const { hf } = await start({})
  await hf.deadLetters.enqueue({ operation: 'w', itemId: 'a', payload: 1, error: new Error('no') })
  await expect(hf.deadLetters.purge({ stauts: 'completed' } as object, { by: 'me' })).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
    message: expect.stringContaining('stauts'),
  })
  expect((await hf.deadLetters.list()).items).toHaveLength(1)
})
