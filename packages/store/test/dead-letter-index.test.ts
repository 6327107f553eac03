import { DEAD_LETTER_STATUSES, type DeadLetterStatus } from '@holdfast/records'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DeadLetterIndex, type DeadLetterQuery, type IndexEntry } from '../src/dead-letter-index.js'
import { effectiveStatus } from '../src/dead-letter-rules.js'

const NOW = 100

const entry = (order: number, fields: Partial<IndexEntry> = {}): IndexEntry => ({
  id: `dlq_${order}`,
  key: `key${order}`,
  operation: 'save',
  itemId: `item${order}`,
  status: 'pending',
  leasedUntil: 0,
  isRequested: false,
  owner: undefined,
  at: order,
  order,
  ...fields,
})

/** Counts how many entries are visited: each visit reads the item of the entry. */
class CountedEntry {
  static visits = 0
  private readonly item: string

  constructor(entry: IndexEntry) {
    Object.assign(this, entry)
    this.item = entry.itemId
    Object.defineProperty(this, 'itemId', {
      get: () => {
        CountedEntry.visits++
        return this.item
      },
    })
  }
}

function countVisits(entries: readonly IndexEntry[], query: DeadLetterQuery): number {
  const index = new DeadLetterIndex<IndexEntry>()
  for (const each of entries) index.put(new CountedEntry(each) as unknown as IndexEntry)
  CountedEntry.visits = 0
  index.count(query, NOW)
  return CountedEntry.visits
}

const thousand = Array.from({ length: 1000 }, (_, order) => order)

it('a selection by item visits the entries of the item', () => {
  const entries = thousand.map((order) => entry(order, { itemId: `item${order % 250}` }))
  expect(countVisits(entries, { itemId: 'item7' })).toBe(4)
  expect(countVisits(entries, { itemId: 'item7', operations: ['save'], statuses: ['pending'] })).toBe(4)
  expect(countVisits(entries, { itemId: 'none' })).toBe(0)
})

it('a selection by item and status visits the entries of the status if these are fewer', () => {
  const entries = thousand.map((order) =>
    entry(order, { itemId: 'same', status: order % 250 === 0 ? 'failed' : 'pending' }),
  )
  expect(countVisits(entries, { itemId: 'same', statuses: ['failed'] })).toBe(4)
})

const statuses = fc.subarray([...DEAD_LETTER_STATUSES])
const change = fc.record({
  order: fc.nat(30),
  isDeleted: fc.boolean(),
  status: fc.constantFrom<DeadLetterStatus>(...DEAD_LETTER_STATUSES),
  leasedUntil: fc.constantFrom(0, 99, 101),
  isRequested: fc.boolean(),
  at: fc.nat(8),
})
const query = fc.record({
  itemId: fc.option(
    fc.nat(3).map((n) => `item${n}`),
    { nil: undefined },
  ),
  operations: fc.option(fc.subarray(['a', 'b']), { nil: undefined }),
  statuses: fc.option(statuses, { nil: undefined }),
  requested: fc.option(fc.boolean(), { nil: undefined }),
  from: fc.option(
    fc.nat(8).map((time) => new Date(time)),
    { nil: undefined },
  ),
})

it('finds the same entries as a filter of an array after generated changes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), query, fc.boolean(), (changes, asked, isNewestFirst) => {
      const index = new DeadLetterIndex<IndexEntry>()
      const stored = new Map<string, IndexEntry>()
      for (const { order, isDeleted, ...fields } of changes) {
        const changed = entry(order, {
          ...fields,
          itemId: `item${order % 3}`,
          operation: order % 2 === 0 ? 'a' : 'b',
        })
        if (isDeleted) index.delete(changed.id)
        else index.put(changed)
        if (isDeleted) stored.delete(changed.id)
        else stored.set(changed.id, changed)
      }
      const expected = [...stored.values()]
        .filter(
          (each) =>
            (asked.itemId === undefined || each.itemId === asked.itemId) &&
            (asked.operations?.includes(each.operation) ?? true) &&
            (asked.statuses?.includes(effectiveStatus(each, NOW)) ?? true) &&
            (asked.requested !== true || each.isRequested) &&
            each.at >= (asked.from?.getTime() ?? 0),
        )
        .toSorted((a, b) => a.at - b.at || a.order - b.order)
      if (isNewestFirst) expected.reverse()
      expect([...index.select(asked, NOW, isNewestFirst)]).toEqual(expected)
    }),
  )
})
