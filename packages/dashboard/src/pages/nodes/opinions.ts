import type { WireNode } from '../../api/types.js'

/** What the nodes think of one breaker that is not closed everywhere. */
export interface BreakerOpinion {
  readonly breaker: string
  readonly open: readonly string[]
  readonly halfOpen: readonly string[]
}

/** By breaker: those that most nodes see open come first. */
export function groupOpinions(nodes: readonly Pick<WireNode, 'id' | 'opinions'>[]): BreakerOpinion[] {
  const found = new Map<string, { open: string[]; halfOpen: string[] }>()
  for (const { id, opinions } of nodes)
    for (const [breaker, state] of Object.entries(opinions)) {
      const of = found.get(breaker) ?? { open: [], halfOpen: [] }
      found.set(breaker, of)
      if (state === 'open') of.open.push(id)
      else of.halfOpen.push(id)
    }
  return [...found]
    .map(([breaker, of]) => ({ breaker, ...of }))
    .toSorted(
      (a, b) =>
        b.open.length - a.open.length ||
        b.halfOpen.length - a.halfOpen.length ||
        (a.breaker < b.breaker ? -1 : 1),
    )
}
