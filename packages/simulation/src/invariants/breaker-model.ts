import type { Holdfast } from '@holdfast/runtime'
import type { FleetBreaker } from '../../../fleet/src/fleet-breaker.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { SHARED_OPERATIONS } from '../scenario/drill.js'
import type { Operation } from '../scenario/scenario.js'

/** How long permits can be used or issued again that Redis has lost. */
const FORGOTTEN_MS = 120_000

/** The connection of a breaker to the fleet, with its private parts. */
type Link = Omit<FleetBreaker, 'probes'> & {
  readonly probes: { readonly lease?: { readonly token: string } }
}

const linkOf = (runtime: Holdfast, operation: Operation): Link =>
  runtime.guard(operation).breaker?.coordinator as unknown as Link

/** The promises about breakers of a fleet: few probes while Redis is available, and one state after the faults. */
export class BreakerModel {
  probeCount = 0
  /** The permits that were used, by breaker and epoch. */
  private readonly tokensByEpoch = new Map<string, Set<string>>()
  private readonly check: (fn: () => void) => void
  private readonly trace: (subject: string, text: string) => void
  private readonly now: () => number
  /** When Redis last lost data. */
  private lostAt = Number.NEGATIVE_INFINITY

  constructor(
    check: (fn: () => void) => void,
    trace: (subject: string, text: string) => void,
    now: () => number,
  ) {
    this.check = check
    this.trace = trace
    this.now = now
  }

  onStarted(process: Process, runtime: Holdfast): void {
    for (const operation of SHARED_OPERATIONS) {
      const link = linkOf(runtime, operation)
      const onProbeStarted = link.onProbeStarted.bind(link)
      link.onProbeStarted = (permit, lease) => {
        const token = link.probes.lease?.token
        if (process.isAlive && link.isShared && link.isFleetOpen)
          this.check(() => this.onProbe(process.name, operation, token, link.breaker.settings.halfOpenMax))
        onProbeStarted(permit, lease)
      }
    }
  }

  /** Redis has lost data, so it can issue permits again that it has issued before. */
  onRedisLostData(): void {
    this.lostAt = this.now()
  }

  private onProbe(
    process: string,
    operation: Operation,
    token: string | undefined,
    halfOpenMax: number,
  ): void {
    this.probeCount++
    this.trace(process, `probe ${operation} ${token}`)
    if (token === undefined)
      throw new Violation('probes', `${process} probes ${operation} without a permit of the fleet`)
    // Nodes still use permits that Redis has forgotten.
    if (this.now() - this.lostAt < FORGOTTEN_MS) return
    const epoch = `${operation} ${token.split(':')[0]}`
    const tokens = this.tokensByEpoch.get(epoch) ?? new Set()
    this.tokensByEpoch.set(epoch, tokens)
    if (tokens.has(token)) throw new Violation('probes', `${process} probes ${operation} with a used permit`)
    tokens.add(token)
    if (tokens.size > halfOpenMax)
      throw new Violation('probes', `${tokens.size} probes of ${operation} in one epoch`)
  }

  /** Checks that all nodes know a trip of one of them that was made some seconds ago. */
  checkTripped(nodes: readonly SimulatedNode[], by: string): void {
    for (const operation of SHARED_OPERATIONS)
      for (const { name, runtime } of nodes) {
        if (runtime === undefined) continue
        const { breaker } = linkOf(runtime, operation)
        if (breaker.currentState === 'closed')
          throw new Violation('converges', `${name} does not know that ${by} has tripped ${operation}`)
      }
  }

  /** Checks that all nodes have the same state of every shared breaker, and that it is closed. */
  checkConverged(nodes: readonly SimulatedNode[]): void {
    for (const operation of SHARED_OPERATIONS) {
      const states = new Set<string>()
      for (const { name, runtime } of nodes) {
        if (runtime === undefined) throw new Violation('converges', `${name} has not started again`)
        const { breaker, epoch, isFleetOpen } = linkOf(runtime, operation)
        const { connected } = runtime.fleet ?? {}
        states.add(
          `${breaker.currentState}, fleet ${isFleetOpen ? 'open' : 'closed'}, epoch ${epoch}, connected ${connected}`,
        )
      }
      const [state = ''] = states
      if (states.size > 1 || !state.startsWith('closed, fleet closed') || !state.endsWith('connected true'))
        throw new Violation(
          'converges',
          `the nodes end with different states of ${operation}: ${[...states].join(' | ')}`,
        )
    }
  }
}
