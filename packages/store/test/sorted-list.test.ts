import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SortedList } from '../src/sorted-list.js'

const item = fc.record({ at: fc.integer({ min: 0, max: 50 }), order: fc.nat(3000) })

it('a sorted list has the same items as a sorted array after generated adds and deletes', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(item, {
        selector: ({ at, order }) => at * 10_000 + order,
        maxLength: 3000,
        size: 'max',
      }),
      fc.infiniteStream(fc.boolean()),
      item,
      (items, coins, place) => {
        const list = new SortedList<{ at: number; order: number }>()
        for (const each of items) list.add(each)
        const gone = items.filter(() => coins.next().value)
        for (const each of [...gone, ...gone]) list.delete(each)
        const kept = items
          .filter((each) => !gone.includes(each))
          .sort((a, b) => a.at - b.at || a.order - b.order)
        const isBefore = (each: typeof place) => each.at - place.at || each.order - place.order
        expect(list.size).toBe(kept.length)
        expect(list.first()).toEqual(kept[0])
        expect([...list.from(place.at, place.order)]).toEqual(kept.filter((each) => isBefore(each) >= 0))
        expect([...list.before(place.at, place.order)]).toEqual(
          kept.filter((each) => isBefore(each) < 0).toReversed(),
        )
      },
    ),
    { numRuns: 50 },
  )
})
