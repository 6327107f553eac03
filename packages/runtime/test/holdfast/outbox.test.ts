import fc from 'fast-check'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { Outbox } from '../../src/events/outbox.js'

function made(writeBatch: (batch: readonly number[]) => Promise<void>, capacity = 10_000) {
  const clock = fakeClock()
  const dropped: number[] = []
  const failed: unknown[] = []
  const outbox = new Outbox<number>({
    clock,
    capacity,
    writeBatch,
    onDropped: (count) => void dropped.push(count),
    onFailed: (error) => void failed.push(error),
  })
  return { outbox, clock, dropped, failed }
}

describe('an outbox', () => {
  it('writes each record once and in order in generated sequences of flushes and failures', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('add', 'flush', 'wait', 'fail'), { maxLength: 60 }),
        async (steps) => {
          const written: number[] = []
          let fails = 0
          const { outbox, clock } = made(async (batch) => {
            await Promise.resolve()
            if (fails > 0) {
              fails--
              throw new Error('full')
            }
            written.push(...batch)
          })
          let count = 0
          for (const step of steps) {
            if (step === 'add') outbox.add(count++)
            else if (step === 'flush') void outbox.flush()
            else if (step === 'fail') fails++
            else await clock.advance(50)
          }
          fails = 0
          await clock.advance(5000)
          await outbox.close()
          expect(written).toEqual(Array.from({ length: count }, (_, i) => i))
        },
      ),
    )
  })

  it('reports dropped records even if the store never responds, and does not wait for it without limit', async () => {
    const { outbox, clock, dropped } = made(() => new Promise(() => {}), 500)
    for (let i = 0; i < 500; i++) outbox.add(i)
    await Promise.resolve()
    expect(dropped).toEqual([])
    for (let i = 0; i < 6000; i++) outbox.add(i)
    expect(dropped).toEqual([500, 4500])
    const closed = outbox.close()
    await clock.advance(10_000)
    await closed
    expect(dropped.reduce((sum, count) => sum + count)).toBe(6500)
  })

  it('flushes a full batch without waiting for its timer', async () => {
    const written: number[] = []
    const { outbox, dropped } = made(async (batch) => void written.push(...batch))
    for (let i = 0; i < 15_000; i++) {
      outbox.add(i)
      if (i % 100 === 0) await Promise.resolve()
    }
    await outbox.close()
    expect(written).toHaveLength(15_000)
    expect(dropped).toEqual([])
  })

  it('reports the number of dropped records while the store keeps failing', async () => {
    const { outbox, clock, dropped } = made(() => Promise.reject(new Error('gone')), 3)
    for (let i = 0; i < 5; i++) outbox.add(i)
    await clock.advance(100)
    expect(dropped).toEqual([2])
    outbox.add(5)
    await clock.advance(1000)
    expect(dropped).toEqual([2, 1])
    await clock.advance(10_000)
    expect(dropped).toEqual([2, 1])
    await outbox.close()
  })

  it('leaves no timer and accepts nothing after close', async () => {
    const { outbox, clock, dropped, failed } = made(() => Promise.reject(new Error('gone')), 3)
    for (let i = 0; i < 5; i++) outbox.add(i)
    await outbox.close()
    expect(dropped).toEqual([2, 3])
    expect(failed).toHaveLength(1)
    outbox.add(9)
    const before = failed.length
    await clock.advance(60_000)
    expect(failed).toHaveLength(before)
  })
})
