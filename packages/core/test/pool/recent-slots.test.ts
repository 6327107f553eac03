import { describe, expect, it } from 'vitest'
import { RecentSlots } from '../../src/pool/network/recent-slots.js'
import { seededRandom } from '../../src/testing/index.js'

describe('RecentSlots', () => {
  it('counts distinct slots with a resolution of an eighth of the window, compared with a naive model', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = seededRandom(seed)
      const below = (count: number) => Math.floor(random() * count)
      const recent = new RecentSlots(80)
      recent.grow(32)
      const seen = new Map<number, number>()
      let now = below(1000)
      for (let step = 0; step < 100; step++) {
        const slot = below(8)
        const kind = below(12)
        if (kind < 6) {
          recent.add(slot, now)
          seen.set(slot, now)
        } else if (kind === 6) {
          recent.remove(slot)
          seen.delete(slot)
        } else if (kind === 7) {
          recent.clear()
          seen.clear()
        } else if (kind < 11) now += below(12)
        else now += below(200)
        recent.advance(now)
        const first = Math.floor(now / 10) - 7
        const expected = [...seen.values()].filter((time) => Math.floor(time / 10) >= first).length
        if (recent.size !== expected) expect(`${recent.size} in step ${step} of ${seed}`).toBe(`${expected}`)
      }
    }
  })
})
