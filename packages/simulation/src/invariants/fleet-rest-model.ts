import { Violation } from '../engine/violation.js'
import type { SimulatedNode } from '../process/simulated-node.js'

/** What a node keeps about its fleet, with the private parts. */
interface Coordinator {
  readonly breakers: {
    readonly syncing: number
    readonly syncQueue: readonly unknown[]
    values(): Iterable<BreakerLink>
  }
  readonly redis: { readonly isUp: boolean; readonly reconnectTimer: unknown; readonly rejection: unknown }
  readonly membership: { readonly liveNodes: number; readonly isRegistered: boolean }
  readonly cooldowns: { readonly unsent: ReadonlyMap<string, unknown> }
  readonly eventStream: { readonly pending: readonly unknown[]; readonly timer: unknown }
  readonly lostAt: unknown
}

interface BreakerLink {
  readonly breaker: { readonly id: string }
  readonly pendingCommand: unknown
  readonly isReading: boolean
  readonly mismatchedNodes: ReadonlySet<string>
  readonly probes: { readonly isRequesting: boolean; readonly lease: unknown; readonly endingToken: unknown }
  readonly counts: { readonly timer: unknown }
}

/** What a node keeps only while something happens, by a description, with the value that it has at rest. */
function describeRest(
  coordinator: Coordinator,
  nodeCount: number,
): [what: string, value: unknown, rest: unknown][] {
  const { breakers, redis, membership, cooldowns, eventStream, lostAt } = coordinator
  const links = [...breakers.values()].flatMap((link): [string, unknown, unknown][] => {
    const { id } = link.breaker
    return [
      [`a command about ${id} that was not sent`, link.pendingCommand, undefined],
      [`a read of ${id} that has not ended`, link.isReading, false],
      [`nodes with other settings of ${id}`, link.mismatchedNodes.size, 0],
      [`a request for a permit of ${id} that has not ended`, link.probes.isRequesting, false],
      [`a permit of ${id}`, link.probes.lease, undefined],
      [`the result of a probe of ${id} that was not reported`, link.probes.endingToken, undefined],
      [`counts of ${id} that were not sent`, link.counts.timer, undefined],
    ]
  })
  return [
    ...links,
    ['synchronizations that have not ended', breakers.syncing, 0],
    ['synchronizations that wait', breakers.syncQueue.length, 0],
    ['Redis available', redis.isUp, true],
    ['a reconnect that waits', redis.reconnectTimer, undefined],
    ['a rejection of Redis', redis.rejection, undefined],
    ['the time of a loss of Redis', lostAt, undefined],
    ['live nodes', membership.liveNodes, nodeCount],
    ['a registration', membership.isRegistered, true],
    ['cooldowns that were not sent', cooldowns.unsent.size, 0],
    ['events that were not sent', eventStream.pending.length, 0],
    ['a timer for events', eventStream.timer, undefined],
  ]
}

/** Checks that nothing of the work for the fleet remains, some time after the last fault and the last call. */
export function checkFleetAtRest(nodes: readonly SimulatedNode[]): void {
  for (const { name, runtime } of nodes) {
    const { coordinator } = (runtime?.fleet ?? {}) as { coordinator?: Coordinator }
    if (runtime === undefined || coordinator === undefined) continue
    for (const [what, value, rest] of describeRest(coordinator, nodes.length))
      if (value !== rest)
        throw new Violation(
          'converges',
          `${name} has ${what} at rest: ${String(value)}, expected ${String(rest)}`,
        )
  }
}
