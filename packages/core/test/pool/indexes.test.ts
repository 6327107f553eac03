import { describe, expect, it } from 'vitest'
import { BitSet } from '../../src/pool/indexes/bit-set.js'
import { DenseSet } from '../../src/pool/indexes/dense-set.js'
import { hashString, mixBits } from '../../src/pool/indexes/hash.js'
import { HashRing } from '../../src/pool/indexes/hash-ring.js'
import { PrefixSumTree } from '../../src/pool/indexes/prefix-sum-tree.js'
import { TimeHeap } from '../../src/pool/indexes/time-heap.js'
import { TournamentTree } from '../../src/pool/indexes/tournament-tree.js'
import { seededRandom } from '../../src/testing/index.js'

/** Seeded random integers. */
function dice(seed: number): (count: number) => number {
  const random = seededRandom(seed)
  return (count) => Math.floor(random() * count)
}

/** Asserts only when there is a difference, because assertions are slow. */
function same(real: unknown, expected: unknown): void {
  if (!Object.is(real, expected)) expect(real).toBe(expected)
}

describe('BitSet', () => {
  it.each([32, 64, 1024, 2048, 40_000])('finds the next of integers below %d like a Set', (capacity) => {
    const below = dice(capacity)
    const bits = new BitSet()
    bits.grow(capacity)
    const set = new Set<number>()
    for (let step = 0; step < 2000; step++) {
      const index = below(capacity)
      if (below(2) === 0) {
        bits.set(index)
        set.add(index)
      } else {
        const gone = set.size > 0 && below(2) === 0 ? ([...set][below(set.size)] as number) : index
        bits.clear(gone)
        set.delete(gone)
      }
      const from = below(capacity + 1)
      const next = Math.min(...[...set].filter((other) => other >= from))
      same(bits.next(from), next === Infinity ? -1 : next)
    }
  })

  it('keeps its elements when it grows', () => {
    const bits = new BitSet()
    bits.grow(32)
    for (const index of [0, 7, 31]) bits.set(index)
    for (const capacity of [64, 2048, 70_000]) {
      bits.grow(capacity)
      expect([bits.next(0), bits.next(1), bits.next(8), bits.next(32)]).toEqual([0, 7, 31, -1])
    }
    bits.set(69_999)
    expect(bits.next(32)).toBe(69_999)
    expect(bits.next(70_000)).toBe(-1)
  })
})

describe('DenseSet.pickMany', () => {
  const dense = new DenseSet()
  dense.grow(32)
  for (const slot of [3, 5, 9]) dense.insert(slot)

  it('draws every slot equally often from one random number', () => {
    const random = seededRandom(4)
    let asked = 0
    const counts = new Map<number, number>()
    for (let i = 0; i < 750; i++) {
      const list = new Int32Array(8)
      dense.pickMany(
        () => {
          asked++
          return random()
        },
        [],
        list,
      )
      for (const slot of list) counts.set(slot, (counts.get(slot) ?? 0) + 1)
    }
    expect(asked).toBe(750)
    expect(new Set(counts.keys())).toEqual(new Set([3, 5, 9]))
    for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(200)
  })

  it.each([1, -1, Number.NaN, Infinity])('draws only slots of the set when random returns %d', (number) => {
    const list = new Int32Array(8)
    dense.pickMany(() => number, [], list)
    for (const slot of list) expect([3, 5, 9]).toContain(slot)
  })

  it('draws no tried slot, and -1 when all were tried', () => {
    const list = new Int32Array(8).fill(-7)
    dense.pickMany(seededRandom(1), [3, 9, 30], list)
    expect([...list]).toEqual(Array(8).fill(5))
    dense.pickMany(seededRandom(1), [3, 9, 5], list)
    expect([...list]).toEqual(Array(8).fill(-1))
  })
})

describe('TimeHeap', () => {
  it('returns slots in the order of their times', () => {
    const below = dice(1)
    const due = new TimeHeap()
    const all: [time: number, slot: number][] = []
    expect(due.earliest).toBe(Infinity)
    for (let step = 0; step < 5000; step++) {
      if (all.length === 0 || below(5) < 3) {
        const entry: [number, number] = [below(300), step]
        all.push(entry)
        due.push(...entry)
      } else {
        const first = Math.min(...all.map(([time]) => time))
        same(due.earliest, first)
        const slot = due.pop()
        const place = all.findIndex(([time, other]) => time === first && other === slot)
        if (place < 0) throw new Error(`${slot} came too early`)
        all.splice(place, 1)
      }
      same(due.earliest, Math.min(...all.map(([time]) => time)))
    }
  })
})

describe('PrefixSumTree', () => {
  it('finds the slot at any point of the sum', () => {
    const below = dice(2)
    const sums = new PrefixSumTree()
    const weights = Array.from({ length: 64 }, () => 0)
    sums.grow(32)
    for (let step = 0; step < 2000; step++) {
      if (step === 500) sums.grow(64)
      const slot = below(step < 500 ? 32 : 64)
      weights[slot] = below(3) === 0 ? 0 : below(10)
      sums.set(slot, weights[slot] as number)
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      same(sums.total, total)
      same(sums.get(slot), weights[slot])
      if (total === 0) continue
      const point = below(total)
      let left = point
      const expected = weights.findIndex((weight) => {
        left -= weight
        return left < 0
      })
      same(sums.find(point), expected)
    }
  })

  it('never finds a slot of weight 0, even for a point beyond the sum', () => {
    const sums = new PrefixSumTree()
    sums.grow(32)
    sums.set(5, 1)
    sums.set(9, 2)
    expect([sums.find(3), sums.find(99), sums.find(0.999), sums.find(1)]).toEqual([9, 9, 5, 9])
  })
})

describe('TournamentTree', () => {
  it('finds the same slot as a linear search', () => {
    const below = dice(3)
    const turns = Array.from({ length: 64 }, () => 0)
    const keys = Array.from({ length: 64 }, () => Infinity)
    const least = new TournamentTree({ selections: (slot) => turns[slot] as number })
    least.grow(32)
    const best = (tried: number[]) => {
      let found = -1
      for (const [slot, key] of keys.entries()) {
        if (key === Infinity || tried.includes(slot)) continue
        const other = keys[found] ?? Infinity
        const fewer = (turns[slot] as number) < (turns[found] as number)
        if (found < 0 || key < other || (key === other && fewer)) found = slot
      }
      return found
    }
    same(least.first, -1)
    for (let step = 0; step < 4000; step++) {
      if (step === 1000) least.grow(64)
      const slot = below(step < 1000 ? 32 : 64)
      if (below(3) === 0) {
        turns[slot] = below(5)
        least.update(slot)
      } else {
        keys[slot] = below(4) === 0 ? Infinity : below(4)
        least.set(slot, keys[slot] as number)
      }
      const tried = Array.from({ length: below(4) }, () => below(32))
      same(least.first, best([]))
      same(least.firstExcept([...new Set(tried)]), best(tried))
      same(least.get(slot), keys[slot])
    }
  })
})

describe('DenseSet', () => {
  it('draws each of its slots equally often and no other', () => {
    const below = dice(4)
    const random = seededRandom(5)
    const dense = new DenseSet()
    dense.grow(32)
    const set = new Set<number>()
    for (let step = 0; step < 300; step++) {
      if (step === 100) dense.grow(64)
      const slot = below(step < 100 ? 32 : 64)
      if (set.has(slot)) {
        dense.delete(slot)
        set.delete(slot)
      } else {
        dense.insert(slot)
        set.add(slot)
      }
      same(dense.size, set.size)
      const tried = [...new Set([below(64), below(64), below(64)])]
      const untried = [...set].filter((other) => !tried.includes(other))
      for (const [drawn, allowed] of [
        [dense.pick(random, []), [...set]],
        [dense.pick(random, tried), untried],
      ] as const)
        if (allowed.length === 0 ? drawn !== -1 : !allowed.includes(drawn))
          throw new Error(`${drawn} was drawn`)
      const [first] = set
      if (first === undefined) continue
      const other = dense.pickOther(random, first)
      if (set.size === 1 ? other !== -1 : other === first || !set.has(other))
        throw new Error(`${other} was drawn`)
    }
    const all = [...set]
    const [tried = -1] = all
    const counts = new Map<number, number>()
    for (let i = 0; i < 2000 * all.length; i++) {
      const slot = i % 2 === 0 ? dense.pick(random, [tried]) : dense.pickOther(random, tried)
      counts.set(slot, (counts.get(slot) ?? 0) + 1)
    }
    expect(counts.size).toBe(all.length - 1)
    for (const count of counts.values()) expect(Math.abs(count / 2000 - 1)).toBeLessThan(0.15)
  })
})

describe('HashRing', () => {
  const points = (hash: number) => [0, 1, 2, 3].map((i) => mixBits(hash + i * 0x9e3779b9))

  it('finds the slot with the point nearest to one of the probes, around the whole ring', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const below = dice(seed)
      const ring = new HashRing()
      ring.grow(32)
      const slots = new Map<number, number>()
      for (let step = 0; step < 120; step++) {
        if (step === 60) ring.grow(128)
        const slot = below(step < 60 ? 32 : 128)
        const hash = slots.get(slot)
        if (hash === undefined) {
          // Some slots share the same points.
          const hash = below(6) === 0 ? hashString('duplicate') : below(2 ** 32)
          ring.insert(slot, hash)
          slots.set(slot, hash)
        } else if (slots.size > below(12)) {
          ring.delete(slot, hash)
          slots.delete(slot)
        }
        const key = below(2 ** 32)
        const tried = [...slots.keys()].slice(0, below(3))
        let expected = -1
        let nearest = Infinity
        for (const look of points(key))
          for (const [other, its] of slots) {
            if (tried.includes(other)) continue
            const far = Math.min(...points(its).map((point) => (point - look) >>> 0))
            if (far < nearest || (far === nearest && other > expected)) {
              nearest = far
              expected = other
            }
          }
        same(ring.find(key, tried), expected)
      }
    }
  })
})

describe('hashString', () => {
  it('returns the same numbers on every machine', () => {
    expect([hashString(''), hashString('a'), hashString('user-1'), mixBits(0), mixBits(1)]).toEqual([
      2872998923, 444641715, 2005895916, 0, 0x514e28b7,
    ])
  })
})
