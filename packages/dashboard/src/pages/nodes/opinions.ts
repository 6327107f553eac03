import type { WireNode } from '../../api/types.js'

/** The nodes on which a breaker is open or half open. */
export interface BreakerOpinion {
  readonly breaker: string
  readonly open: readonly string[]
  readonly halfOpen: readonly string[]
}

/** Groups the states of nodes by breaker; breakers that are open on most nodes come first. */
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
