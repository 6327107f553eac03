import type { HoldfastError, Member, Pool } from 'holdfast'
import type { Pick, PickOutcome, PoolProtocol } from 'holdfast/engine'
import { upstreamOf } from './member.js'
import type { ProxyUpstream } from './upstream.js'

/** A pick of the pool's, with its member as a proxy. */
class UpstreamPick implements Pick<ProxyUpstream> {
  readonly member: Member<ProxyUpstream>
  readonly inner: Pick

  constructor(inner: Pick) {
    this.inner = inner
    this.member = { ...inner.member, value: upstreamOf(inner.member.value) }
  }
}

const innerOf = (picks: readonly Pick<ProxyUpstream>[]): Pick[] =>
  picks.map((pick) => (pick as UpstreamPick).inner)

/** A pool whose members are proxies, whatever their values are: those of a runtime's pools are urls. */
export class Upstreams implements PoolProtocol<ProxyUpstream> {
  private readonly pool: Pool

  constructor(pool: Pool) {
    this.pool = pool
  }

  take(
    context: unknown,
    picks: readonly Pick<ProxyUpstream>[],
    lease: number | undefined,
  ): UpstreamPick | undefined {
    const taken = this.pool.take(context, innerOf(picks), lease)
    return taken && new UpstreamPick(taken)
  }

  settle(pick: Pick<ProxyUpstream>, outcome: PickOutcome, picks: readonly Pick<ProxyUpstream>[]): boolean {
    return this.pool.settle((pick as UpstreamPick).inner, outcome, innerOf(picks))
  }

  hasOther(picks: readonly Pick<ProxyUpstream>[]): boolean {
    return this.pool.hasOther(innerOf(picks))
  }

  refusal(): HoldfastError {
    return this.pool.refusal()
  }
}
