import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paginate } from '../../src/http/page.js'

const idOf = (id: string) => id

test('pages of any size contain the whole list', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string()), fc.integer({ min: 1, max: 10 }), (list, limit) => {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = paginate(list, idOf, { limit, cursor })
        seen.push(...page.items)
        cursor = page.cursor
      } while (cursor !== undefined)
      expect(seen).toEqual(list)
    }),
  )
})

test('pages of a list from which items were removed contain all remaining items', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 2 }), fc.array(fc.nat()), (list, gone) => {
      const first = paginate(list, idOf, { limit: 1 })
      const kept = list.filter((id, i) => first.items.includes(id) || !gone.includes(i))
      const rest =
        first.cursor === undefined ? [] : paginate(kept, idOf, { limit: 1000, cursor: first.cursor }).items
      expect([...first.items, ...rest]).toEqual(kept)
    }),
  )
})

test('a page continues at the old index where the item of its cursor is gone', () => {
  const { cursor } = paginate(['a', 'b', 'c', 'd'], idOf, { limit: 2 })
  expect(paginate(['a', 'c', 'd'], idOf, { limit: 2, cursor }).items).toEqual(['c', 'd'])
})

test.each([
  'x',
  '',
  '[]',
  Buffer.from('[-1,"a"]').toString('base64url'),
  Buffer.from('[1,2]').toString('base64url'),
])('a cursor that is none is refused: %j', (cursor) =>
  expect(() => paginate(['a'], idOf, { limit: 1, cursor })).toThrow(/cursor/),
)
