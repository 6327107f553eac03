import type { Holdfast } from '@holdfast/runtime'
import type { Scheduler } from '../engine/scheduler.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import { MEMBERS, type MemberChange, type MemberId, POOL } from '../scenario/scenario.js'

/** Whether a member can be selected, exists and cannot be selected, or does not exist. */
type MemberMode = 'in use' | 'out of use' | 'absent'

const MODE_AFTER: Readonly<Record<MemberChange, MemberMode>> = {
  drain: 'out of use',
  disable: 'out of use',
  remove: 'absent',
  enable: 'in use',
  add: 'in use',
  replace: 'in use',
  restore: 'in use',
}

/** After this time a change of a process that has died is not executed any more. */
const LATE_MS = 300_000

/** The changes of one member in one store. */
interface MemberChanges {
  /** Undefined while it is not known which change was last. */
  mode: MemberMode | undefined
  /** Changes that have not ended. */
  readonly pending: Set<PendingChange>
}

/** A change that has not ended. One that overlaps with another one can be executed before or after it. */
interface PendingChange {
  isAlone: boolean
}

const modeOf = (runtime: Holdfast, member: MemberId): MemberMode => {
  const pool = runtime.pools.get(POOL)
  if (!pool.members().some(({ id }) => id === member)) return 'absent'
  return pool.status(member) === 'drained' ? 'out of use' : 'in use'
}

/**
 * The promise that a live change of a member that was acknowledged applies to its process at once, and to all processes with the same
 * store after a time. Nothing is known about a member after changes that failed or overlapped.
 */
export class MemberChangeModel {
  private readonly scheduler: Scheduler
  private readonly storeOf: (process: string) => string
  private readonly changes = new Map<string, MemberChanges>()

  /** @param storeOf - the name of the store of a process */
  constructor(scheduler: Scheduler, storeOf: (process: string) => string) {
    this.scheduler = scheduler
    this.storeOf = storeOf
  }

  /** A change begins. Returns functions to report its end. */
  onStarted(
    process: Process,
    runtime: Holdfast,
    change: MemberChange,
    member: MemberId,
  ): { onAcknowledged: () => void; onFailed: () => void } {
    const changes = this.changesOf(this.storeOf(process.name), member)
    const token: PendingChange = { isAlone: changes.pending.size === 0 }
    for (const other of changes.pending) other.isAlone = false
    changes.pending.add(token)
    changes.mode = undefined
    this.scheduler.schedule(LATE_MS, () => {
      if (!process.isAlive) changes.pending.delete(token)
    })
    return {
      onFailed: () => void changes.pending.delete(token),
      onAcknowledged: () => {
        changes.pending.delete(token)
        if (!token.isAlone) return
        const expected = MODE_AFTER[change]
        changes.mode = expected
        const mode = modeOf(runtime, member)
        if (mode !== expected)
          throw new Violation(
            'members',
            `${process.name} has ${member} ${mode} after ${change} was acknowledged`,
          )
      },
    }
  }

  /** The disk of a store lied, and may have lost every change that was acknowledged. */
  onDiskLied(store: string): void {
    for (const member of MEMBERS) this.changesOf(store, member).mode = undefined
  }

  /** Checks that all processes with the same store have the members of the last changes. */
  checkConverged(nodes: readonly SimulatedNode[]): void {
    const seen = new Map<string, { readonly node: string; readonly mode: MemberMode }>()
    for (const { name, process, runtime } of nodes) {
      if (process === undefined || runtime === undefined) continue
      const store = this.storeOf(process.name)
      for (const member of MEMBERS) {
        const { mode: expected, pending } = this.changesOf(store, member)
        if (pending.size > 0) continue
        const mode = modeOf(runtime, member)
        if (expected !== undefined && mode !== expected)
          throw new Violation('members', `${name} has ${member} ${mode}, expected ${expected}`)
        const key = `${store} ${member}`
        const other = seen.get(key) ?? { node: name, mode }
        seen.set(key, other)
        if (other.mode !== mode)
          throw new Violation(
            'members',
            `${name} has ${member} ${mode}, and ${other.node} has it ${other.mode}`,
          )
      }
    }
  }

  private changesOf(store: string, member: MemberId): MemberChanges {
    const key = `${store} ${member}`
    const known = this.changes.get(key) ?? { mode: 'in use', pending: new Set() }
    this.changes.set(key, known)
    return known
  }
}
