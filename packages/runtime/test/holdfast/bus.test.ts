import { fakeClock, seededRandom } from 'holdfast/testing'
import { describe, expect, it, vi } from 'vitest'
import { openStore } from '../../../store/src/open/open-store.js'
import { StoreBackedContext } from '../../src/context/store-backed-context.js'

const WAIT_MS = 10_000

describe('a listener that is too slow', () => {
  it('loses events, which an event and stderr report', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const store = await openStore('memory')
    const runtimeContext = new StoreBackedContext({
      clock: fakeClock(),
      random: seededRandom(7),
      logger: undefined,
      store,
    })
    let finish = () => {}
    const slow = new Promise<void>((resolve) => {
      finish = resolve
    })
    let heard = 0
    runtimeContext.bus.on('alert', () => (++heard === 1 ? slow : undefined))
    const losses: unknown[] = []
    runtimeContext.bus.on('events_dropped', ({ context }) => losses.push(context))
    const tell = async (times: number) => {
      for (let i = 0; i < times; i++) {
        runtimeContext.emit({ eventType: 'alert', component: 'retry_manager' })
        if (i % 1000 === 0) await runtimeContext.flush()
      }
    }
    await tell(WAIT_MS + 1)
    expect(losses).toEqual([])
    await tell(25)
    const loss = { records: 'events', listener: 'alert' }
    expect(losses).toEqual([
      { ...loss, dropped: 1 },
      { ...loss, dropped: 9 },
    ])
    finish()
    await expect.poll(() => losses).toHaveLength(3)
    expect(losses.at(-1)).toEqual({ ...loss, dropped: 15 })
    expect(heard).toBe(WAIT_MS + 1)
    expect(said.mock.calls.flat()).toEqual([
      'holdfast: 1 events were dropped because a listener to alert could not keep up',
    ])
    await runtimeContext.close()
    said.mockRestore()
  })
})
