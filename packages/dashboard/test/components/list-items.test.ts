import { describe, expect, it } from 'vitest'
import { idOf, mergeFirstPage } from '../../src/components/list-items.js'

const item = (id: string, value = 0) => ({ id, value })

describe('the shown items of a list', () => {
  it('keep their order and are updated by a newer first page', () => {
    const merged = mergeFirstPage([item('b'), item('a'), item('z')], [item('c'), item('b', 5), item('a')])
    expect(merged.items).toEqual([item('b', 5), item('a'), item('z')])
    expect(merged).toMatchObject({ newCount: 1, hasMoreNew: false })
  })

  it('can be fewer than the new ones where the first page has only new items', () => {
    expect(mergeFirstPage([item('a')], [item('d'), item('c')])).toMatchObject({
      newCount: 2,
      hasMoreNew: true,
    })
    expect(mergeFirstPage([item('a')], [])).toMatchObject({ newCount: 0, hasMoreNew: false })
  })

  it('are not the same because they belong to the same session', () => {
    expect(idOf({ session_id: 's1', dlq_id: 'd1' })).toBe('d1')
    expect(idOf({ session_id: 's1', event_id: 'e1' })).toBe('e1')
    expect(idOf({ session_id: 's1', message: 'a' })).not.toBe(idOf({ session_id: 's1', message: 'b' }))
  })

  it('are compared as a whole where they have no id', () => {
    expect(idOf({ session_id: 's1', attempts: [] })).toBe('s1')
    expect(idOf({ timestamp: 't', message: 'm' })).toBe('{"timestamp":"t","message":"m"}')
  })
})
