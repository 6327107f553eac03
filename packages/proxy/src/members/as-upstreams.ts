import type { HoldfastError, Member, Pool } from 'holdfast'
import type { MemberPool, Selection, SelectionOutcome } from 'holdfast/internal'
import { upstreamOf } from './member.js'
import type { ProxyUpstream } from './upstream.js'

/** A pick of the pool's, with its member as a proxy. */
class UpstreamPick implements Selection<ProxyUpstream> {
  readonly member: Member<ProxyUpstream>
  readonly inner: Selection

  constructor(inner: Selection) {
    this.inner = inner
    this.member = { ...inner.member, value: upstreamOf(inner.member.value) }
  }
}

const innerOf = (picks: readonly Selection<ProxyUpstream>[]): Selection[] =>
  picks.map((pick) => (pick as UpstreamPick).inner)

/** A pool whose members are proxies, whatever their values are: those of a runtime's pools are urls. */
export class Upstreams implements MemberPool<ProxyUpstream> {
  private readonly pool: Pool

  constructor(pool: Pool) {
    this.pool = pool
  }

  select(
    context: unknown,
    picks: readonly Selection<ProxyUpstream>[],
    lease: number | undefined,
  ): UpstreamPick | undefined {
    const taken = this.pool.select(context, innerOf(picks), lease)
    return taken && new UpstreamPick(taken)
  }

  recordOutcome(
    pick: Selection<ProxyUpstream>,
    outcome: SelectionOutcome,
    picks: readonly Selection<ProxyUpstream>[],
  ): boolean {
    return this.pool.recordOutcome((pick as UpstreamPick).inner, outcome, innerOf(picks))
  }

  hasUntriedMember(picks: readonly Selection<ProxyUpstream>[]): boolean {
    return this.pool.hasUntriedMember(innerOf(picks))
  }

  createUnavailableError(): HoldfastError {
    return this.pool.createUnavailableError()
  }
}
