import type { HoldfastError, Member, Pool } from 'holdfast'
import type { MemberPool, Selection, SelectionOutcome } from 'holdfast/internal'
import type { ProxyUpstream } from '../connect/upstream.js'
import { upstreamOf } from './member.js'

/** A selection of the pool, with a proxy as the value of its member. */
class UpstreamSelection implements Selection<ProxyUpstream> {
  readonly member: Member<ProxyUpstream>
  readonly inner: Selection

  constructor(inner: Selection) {
    this.inner = inner
    this.member = { ...inner.member, value: upstreamOf(inner.member.value) }
  }
}

const innerSelections = (selections: readonly Selection<ProxyUpstream>[]): Selection[] =>
  selections.map((selection) => (selection as UpstreamSelection).inner)

/** A view of a pool in which all members are proxies. The members of pools of a runtime have URLs as values. */
export class UpstreamPool implements MemberPool<ProxyUpstream> {
  private readonly pool: Pool

  constructor(pool: Pool) {
    this.pool = pool
  }

  select(
    context: unknown,
    selections: readonly Selection<ProxyUpstream>[],
    lease: number | undefined,
  ): UpstreamSelection | undefined {
    const selection = this.pool.select(context, innerSelections(selections), lease)
    return selection && new UpstreamSelection(selection)
  }

  recordOutcome(
    selection: Selection<ProxyUpstream>,
    outcome: SelectionOutcome,
    selections: readonly Selection<ProxyUpstream>[],
  ): boolean {
    return this.pool.recordOutcome(
      (selection as UpstreamSelection).inner,
      outcome,
      innerSelections(selections),
    )
  }

  hasUntriedMember(selections: readonly Selection<ProxyUpstream>[]): boolean {
    return this.pool.hasUntriedMember(innerSelections(selections))
  }

  createUnavailableError(): HoldfastError {
    return this.pool.createUnavailableError()
  }
}
