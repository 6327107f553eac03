import { Holdfast, type OpenOptions } from '@holdfast/runtime'
import { expect, onTestFinished, test, vi } from 'vitest'
import { World } from '../cli/world.js'

const STORES = [
  ['postgres://ann:hunter2@db/holdfast', 'postgres://[redacted]@db/holdfast'],
  [
    'postgres://db/holdfast?user=ann&password=hunter2&sslmode=verify-full',
    'postgres://db/holdfast?user=[redacted]&password=[redacted]&sslmode=verify-full',
  ],
  ['postgres://ann:hunter@2@db/holdfast', 'postgres://[redacted]@db/holdfast'],
  [`postgres://ann:hun'ter2@db/holdfast`, 'postgres://[redacted]@db/holdfast'],
  ['sqlite:data/holdfast.db', 'sqlite:data/holdfast.db'],
]

test.each(STORES)('serve prints no password of the store %s', async (store, shown) => {
  const config = JSON.stringify({ version: '1.2.0', store })
  const world = new World({ 'holdfast.json': config })
  const open = Holdfast.open.bind(Holdfast)
  // The config keeps its store, and no database is needed.
  vi.spyOn(Holdfast, 'open').mockImplementation((options) =>
    open({ ...(options as OpenOptions), store: 'memory' }),
  )
  onTestFinished(() => void vi.restoreAllMocks())
  const { code, json, out } = await world.run(
    ['serve', '--port', '0', '--json', '--config', 'holdfast.json'],
    { onPrinted: (text, interrupt) => void (text.includes('"store"') && setImmediate(interrupt)) },
  )
  expect([code, json.store]).toEqual([0, shown])
  expect(out).not.toMatch(/hunter|ter2/)
})
