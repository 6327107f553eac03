import { Holdfast } from '@holdfast/runtime'
import { expect, test } from 'vitest'
import { World } from '../cli/world.js'

test('a list that is longer than --limit says that more rows are available', async () => {
  const world = new World({ 'holdfast.yaml': 'version: "1.1.0"\n' })
  const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
  for (const itemId of ['a', 'b'])
    await hf.deadLetters.enqueue({ operation: 'save', itemId, payload: {}, error: new Error('down') })
  await hf.close()
  expect((await world.run(['dlq', 'list', '--limit', '1'])).err).toContain('--limit N')
  expect((await world.run(['dlq', 'list', '--limit', '2'])).err).not.toContain('--limit N')
})
