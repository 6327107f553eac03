// `require` and `import` load two copies, and a runtime of one was not an instance of the class of the other.
import { expect, it, vi } from 'vitest'

it('a runtime of another copy is an instance of Holdfast', async () => {
  const load = () => {
    vi.resetModules()
    return import('../../src/index.js')
  }
  const mine = await load()
  const other = await load()
  const hf = await other.Holdfast.open({ config: { store: 'memory' }, env: {} })
  expect(mine.Holdfast).not.toBe(other.Holdfast)
  expect(hf).toBeInstanceOf(mine.Holdfast)
  expect({ run: hf.run }).not.toBeInstanceOf(mine.Holdfast)
  await hf.close()
})
