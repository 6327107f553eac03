import { describe, expect, it } from 'vitest'
import { type Column, sortRows } from '../../src/components/sort-rows.js'

interface Row {
  name: string
  calls: number | null
}

const COLUMNS: Column<Row>[] = [
  { key: 'name', title: 'Name', value: ({ name }) => name },
  { key: 'calls', title: 'Calls', value: ({ calls }) => calls, isNumeric: true },
  { key: 'actions', title: 'Actions' },
]

const ROWS: Row[] = [
  { name: 'm10', calls: 2 },
  { name: 'm9', calls: null },
  { name: 'a', calls: 10 },
]

const sorted = (sort: string | undefined) => sortRows(ROWS, COLUMNS, sort).map(({ name }) => name)

describe('sorting a table', () => {
  it('sorts numbers by size and texts by alphabet and number', () => {
    expect(sorted('calls')).toEqual(['m10', 'a', 'm9'])
    expect(sorted('name')).toEqual(['a', 'm9', 'm10'])
    expect(sorted('-name')).toEqual(['m10', 'm9', 'a'])
  })

  it('lists missing values last in both directions', () => {
    expect(sorted('-calls')).toEqual(['a', 'm10', 'm9'])
  })

  it.each([undefined, '', '-', 'unknown', 'actions', '-actions'])('keeps the order for %j', (sort) => {
    expect(sorted(sort)).toEqual(['m10', 'm9', 'a'])
  })
})
