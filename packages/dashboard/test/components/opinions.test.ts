import { expect, it } from 'vitest'
import { groupOpinions } from '../../src/pages/nodes/opinions.js'

it('groups the states of nodes by breaker, with breakers that are open on most nodes first', () => {
  const nodes = [
    { id: 'n1', opinions: { a: 'open', b: 'half_open' } },
    { id: 'n2', opinions: { a: 'half_open', c: 'open' } },
    { id: 'n3', opinions: { c: 'open' } },
    { id: 'n4', opinions: {} },
  ] as const
  expect(groupOpinions(nodes)).toEqual([
    { breaker: 'c', open: ['n2', 'n3'], halfOpen: [] },
    { breaker: 'a', open: ['n1'], halfOpen: ['n2'] },
    { breaker: 'b', open: [], halfOpen: ['n1'] },
  ])
})
