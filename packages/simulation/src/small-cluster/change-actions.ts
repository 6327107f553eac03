import type { Holdfast } from '@holdfast/runtime'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import type { ChangeTarget } from './layer-model.js'
import { ADDED_MEMBERS, CHANGED_POLICIES, FILE_MEMBERS, SMALL_POOL } from './settings.js'
import type { SmallCluster } from './small-cluster.js'

/** A live change before it is made. */
interface PlannedChange {
  readonly target: ChangeTarget
  /** Whether the runtime must reject it. */
  readonly isInvalid?: boolean
  /** The attempts that calls of the policy make after the change. */
  readonly attempts?: number
  make(runtime: Holdfast, actor: { by: string }): Promise<unknown>
}

/** Makes live changes in the small cluster, most of them on several nodes at the same time, so that they conflict. */
export class ChangeActions {
  private readonly cluster: SmallCluster
  private changeCount = 0

  constructor(cluster: SmallCluster) {
    this.cluster = cluster
  }

  /** Several nodes make changes within a few milliseconds. */
  changeBurst(): void {
    const { choices, nodes, scheduler } = this.cluster
    for (const node of nodes)
      for (let count = choices.below(3); count > 0; count--)
        scheduler.schedule(choices.between(0, choices.pick([2, 15])), () => this.changeOn(node))
  }

  private changeOn({ process, runtime }: SimulatedNode): void {
    if (process === undefined || runtime === undefined || this.cluster.isClosing(process.name)) return
    void this.change(process, runtime, this.plan())
  }

  private async change(process: Process, runtime: Holdfast, planned: PlannedChange): Promise<void> {
    const { layers } = this.cluster
    const by = `${process.name} change ${this.changeCount++}`
    layers.onStarted(process.name, by, planned.target)
    try {
      await planned.make(runtime, { by })
    } catch (error) {
      return this.cluster.checkAlive(process, () => layers.onFailed(by, error))
    }
    this.cluster.checkAlive(process, () => {
      if (planned.isInvalid) throw new Violation('changes', `${by} is invalid and was not rejected`)
      layers.onAcknowledged(by, runtime)
      layers.checkPool(process.name, runtime)
    })
    const { target, attempts } = planned
    if (attempts !== undefined && target.kind === 'policy')
      await this.checkCall(process, runtime, target.id, attempts)
  }

  /** A call that starts after the acknowledgement uses the new policy. */
  private async checkCall(process: Process, runtime: Holdfast, id: string, expected: number): Promise<void> {
    const { layer } = runtime.config
    let attempts = 0
    await runtime
      .run(id, () => {
        attempts++
        throw Object.assign(new Error('the upstream does not respond'), { code: 'ECONNRESET' })
      })
      .catch(() => {})
    this.cluster.checkAlive(process, () => {
      const isSameLayer = runtime.config.layer === layer && !this.cluster.isClosing(process.name)
      if (isSameLayer && attempts !== expected)
        throw new Violation(
          'changes',
          `a call of ${process.name} made ${attempts} attempts after ${id} was changed to ${expected}`,
        )
    })
  }

  private plan(): PlannedChange {
    const { choices, layers } = this.cluster
    const id = choices.pick(CHANGED_POLICIES)
    switch (choices.below(12)) {
      case 0: {
        const version = choices.below(layers.versions.length)
        return {
          target: { kind: 'version', version },
          make: ({ config }, actor) => config.rollback(version, actor),
        }
      }
      case 1:
        if (choices.chance(0.5)) return this.plan()
        return { target: { kind: 'all' }, make: ({ config }, actor) => config.clear(actor) }
      case 2:
        return {
          target: { kind: 'policy', id, fields: null },
          make: ({ policies }, actor) => policies.delete(id, actor),
        }
      case 3:
        return {
          target: { kind: 'policy', id, fields: null },
          isInvalid: true,
          make: ({ policies }, actor) => policies.put({ id, maxAttempts: 0 } as never, actor),
        }
      case 4:
        return {
          target: { kind: 'version', version: 999 },
          isInvalid: true,
          make: ({ config }, actor) => config.rollback(999, actor),
        }
      case 5:
      case 6:
      case 7:
        return this.planMember()
      default: {
        const attempts = 1 + choices.below(3)
        const baseDelay = 8 + choices.below(5)
        return {
          target: { kind: 'policy', id, fields: { max_attempts: attempts, base_delay: baseDelay / 1000 } },
          attempts,
          make: ({ policies }, actor) =>
            policies.put({ id, maxAttempts: attempts, baseDelay } as never, actor),
        }
      }
    }
  }

  private planMember(): PlannedChange {
    const { choices } = this.cluster
    const isAdded = choices.chance(0.5)
    const id = choices.pick<string>(isAdded ? ADDED_MEMBERS : FILE_MEMBERS)
    const target = { kind: 'member', id } as const
    if (isAdded && choices.chance(0.6))
      return {
        target,
        make: ({ pools }, actor) =>
          pools.addMember(SMALL_POOL, { id, url: `http://user:secret@${id}.example` }, actor),
      }
    if (choices.chance(0.3))
      return { target, make: ({ pools }, actor) => pools.removeMember(SMALL_POOL, id, actor) }
    const update = choices.pick([{ enabled: true }, { enabled: false }, { draining: true }, { weight: 3 }])
    return { target, make: ({ pools }, actor) => pools.changeMember(SMALL_POOL, id, update, actor) }
  }
}
