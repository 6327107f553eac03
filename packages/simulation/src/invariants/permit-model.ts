import type { Holdfast } from '@holdfast/runtime'
import type { CircuitBreaker } from 'holdfast'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { OPERATIONS, type Operation } from '../scenario/scenario.js'

/** The breakers of a process, and how many attempts of each operation run. */
interface ProcessPermits {
  readonly breakers: readonly (readonly [Operation, CircuitBreaker])[]
  readonly running: Map<Operation, number>
}

/** The promise that an attempt releases its permit when it ends: a breaker never has more permits of probes than attempts run. */
export class PermitModel {
  private readonly permits = new WeakMap<Process, ProcessPermits>()

  onStarted(process: Process, runtime: Holdfast): void {
    const breakers = OPERATIONS.flatMap((operation) => {
      const { breaker } = runtime.guard(operation)
      return breaker === undefined ? [] : [[operation, breaker] as const]
    })
    this.permits.set(process, { breakers, running: new Map() })
  }

  /** An attempt begins or ends. */
  onAttempt(process: Process, operation: Operation, change: 1 | -1): void {
    const running = this.permits.get(process)?.running
    running?.set(operation, (running.get(operation) ?? 0) + change)
  }

  /** Cheap enough for every event. */
  check(nodes: readonly SimulatedNode[]): void {
    for (const { process } of nodes) {
      const permits = process && this.permits.get(process)
      if (process === undefined || permits === undefined) continue
      for (const [operation, { probePermits }] of permits.breakers) {
        if (probePermits === undefined || probePermits.length === 0) continue
        const running = permits.running.get(operation) ?? 0
        // A permit that was released in another epoch stays in the list, with a mark.
        const held = probePermits.filter(({ epoch }) => epoch >= 0).length
        if (held > running)
          throw new Violation(
            'probes',
            `${process.name} has ${held} permits of probes of ${operation}, and ${running} attempts run`,
          )
      }
    }
  }
}
