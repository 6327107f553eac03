import { isDeepStrictEqual } from 'node:util'
import type { Holdfast } from '@holdfast/runtime'
import type { LayerVersion } from '@holdfast/store'
import type { Layer } from '../../../config/src/schema/layer.js'
import { Violation } from '../engine/violation.js'
import { FILE_MEMBERS, SMALL_POOL } from './settings.js'
import type { StoreCall } from './store-port.js'

/** What a live change is about: one policy, one member, the layer of a version, or everything. */
export type ChangeTarget =
  | { readonly kind: 'policy'; readonly id: string; readonly fields: object | null }
  | { readonly kind: 'member'; readonly id: string }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'all' }

/** A live change that a process makes. */
interface StartedChange {
  readonly by: string
  readonly process: string
  readonly target: ChangeTarget
  /** The versions that it has stored. */
  readonly versions: number[]
  auditCount: number
  acknowledgedAt: number | undefined
}

/** A process reads changes of others within this time, with a margin for a failed read. */
const KNOWN_MS = 35_000

interface StoredVersion {
  readonly at: number
  readonly layer: Layer
}

/** The entries of a layer by their names. */
function entriesOf({ policies = {}, pools = {} }: Layer): Map<string, unknown> {
  const entries = new Map<string, unknown>(
    Object.entries(policies).map(([id, entry]) => [`policy ${id}`, entry]),
  )
  for (const { members = {} } of Object.values(pools))
    for (const [id, entry] of Object.entries(members)) entries.set(`member ${id}`, entry)
  return entries
}

const isSame = (a: unknown, b: unknown): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(a ?? null)), JSON.parse(JSON.stringify(b ?? null)))

/** The entries that differ between two layers. */
function differences(before: Layer, after: Layer): string[] {
  const [old, next] = [entriesOf(before), entriesOf(after)]
  return [...new Set([...old.keys(), ...next.keys()])].filter(
    (name) => old.has(name) !== next.has(name) || !isSame(old.get(name), next.get(name)),
  )
}

/**
 * The history of live changes, naively: a change that was acknowledged is in the history exactly once and changes what it is about and
 * nothing else, a change that was rejected is not in it, and every process has the layer of the newest version after a time.
 */
export class LayerModel {
  /** The layer before any change, and of each version. */
  readonly versions: StoredVersion[] = [{ at: Number.NEGATIVE_INFINITY, layer: {} }]
  private readonly now: () => number
  private readonly decrypt: (layer: unknown) => Layer
  private readonly changes = new Map<string, StartedChange>()
  private readonly reported = new Map<string, Set<number>>()
  acknowledgedCount = 0
  conflictCount = 0

  /** @param decrypt - returns a stored layer with readable member urls */
  constructor(now: () => number, decrypt: (layer: unknown) => Layer) {
    this.now = now
    this.decrypt = decrypt
  }

  /** A process begins a change. `by` is the name of its actor, which no other change has. */
  onStarted(process: string, by: string, target: ChangeTarget): void {
    this.changes.set(by, { by, process, target, versions: [], auditCount: 0, acknowledgedAt: undefined })
  }

  onExecuted({ method, args }: StoreCall, result: unknown): void {
    if (method === 'audit.append') return this.onAudited(args[0] as { actor: string }[])
    if (method !== 'layers.append') return
    if (result !== true) {
      this.conflictCount++
      return
    }
    const [{ by, layer: stored }, after] = args as [LayerVersion, number]
    if (after !== this.versions.length - 1)
      throw new Violation('changes', `version ${after + 1} follows version ${this.versions.length - 1}`)
    const layer = this.decrypt(stored)
    const change = this.changes.get(by)
    if (change === undefined)
      throw new Violation('changes', `${by} changed the layer, and no change has this actor`)
    change.versions.push(after + 1)
    if (change.versions.length > 1)
      throw new Violation('changes', `${by} is in the history as versions ${change.versions.join(' and ')}`)
    this.checkContent(change, (this.versions[after] as StoredVersion).layer, layer)
    this.versions.push({ at: this.now(), layer })
  }

  /** A change was acknowledged: its process has it at once. */
  onAcknowledged(by: string, runtime: Holdfast): void {
    const change = this.changes.get(by) as StartedChange
    const [version] = change.versions
    this.acknowledgedCount++
    change.acknowledgedAt = this.now()
    if (version === undefined)
      throw new Violation('changes', `${by} was acknowledged, and the history does not have it`)
    // A later version can have been applied while the audit record was written.
    const { layer } = runtime.config
    if (!this.versions.slice(version).some((each) => isSame(each.layer, layer)))
      throw new Violation(
        'changes',
        `${change.process} has another layer than version ${version}, which it has just stored`,
      )
  }

  /** A change was rejected: it has no effect, unless the reply of the store was lost. */
  onFailed(by: string, error: unknown): void {
    const code = (error as { code?: unknown }).code
    const { versions } = this.changes.get(by) as StartedChange
    if (versions.length > 0 && code !== 'STORE_UNAVAILABLE')
      throw new Violation('changes', `${by} was rejected with ${String(code)}, and the history has it`)
  }

  /** A process reports that it has read a version of another process. */
  onReported(process: string, version: number): void {
    const known = this.reported.get(process) ?? new Set()
    this.reported.set(process, known)
    if (known.has(version)) throw new Violation('changes', `${process} applied version ${version} twice`)
    known.add(version)
  }

  /** Checks that the pool of a process has the members of its layer. */
  checkPool(process: string, runtime: Holdfast): void {
    const changes = runtime.config.layer.pools?.[SMALL_POOL]?.members ?? {}
    const expected = new Map<string, boolean>(FILE_MEMBERS.map((id) => [id, true]))
    for (const [id, change] of Object.entries(changes))
      if (change === null || !(expected.has(id) || change.url !== undefined)) expected.delete(id)
      else expected.set(id, change.enabled !== false && change.draining !== true)
    const pool = runtime.pools.get(SMALL_POOL)
    const got = new Map(pool.members().map(({ id }) => [id, pool.status(id) !== 'drained']))
    const format = (members: ReadonlyMap<string, boolean>) =>
      [...members]
        .map(([id, isInUse]) => `${id} ${isInUse ? 'in use' : 'not in use'}`)
        .toSorted()
        .join(', ')
    if (format(got) !== format(expected))
      throw new Violation(
        'changes',
        `${process} has the members ${format(got)}, expected ${format(expected)}`,
      )
  }

  /** Checks that a process has a version that is not older than the allowed time. */
  checkKnown(process: string, runtime: Holdfast): void {
    const oldest = this.versions.findLastIndex(({ at }) => at <= this.now() - KNOWN_MS)
    const { layer } = runtime.config
    if (!this.versions.slice(Math.max(0, oldest)).some((version) => isSame(version.layer, layer)))
      throw new Violation(
        'changes',
        `${process} has none of the layers of the versions ${oldest} to ${this.versions.length - 1}`,
      )
  }

  /** Checks that every change of a process that was acknowledged before a time has one audit record. */
  checkAudited(process: string, before: number): void {
    for (const {
      by,
      process: other,
      acknowledgedAt = Number.POSITIVE_INFINITY,
      auditCount,
    } of this.changes.values())
      if (other === process && acknowledgedAt < before && auditCount !== 1)
        throw new Violation('changes', `${by} has ${auditCount} audit records, expected 1`)
  }

  private onAudited(records: readonly { readonly actor: string }[]): void {
    for (const { actor } of records) {
      const change = this.changes.get(actor)
      if (change !== undefined) change.auditCount++
    }
  }

  private checkContent({ by, target }: StartedChange, before: Layer, after: Layer): void {
    const changed = differences(before, after)
    const fail = (text: string) => new Violation('changes', `${by}: ${text}`)
    switch (target.kind) {
      case 'all':
        if (entriesOf(after).size > 0) throw fail('the layer is not empty after a clear')
        return
      case 'version': {
        const expected = this.versions[target.version]?.layer ?? {}
        if (differences(expected, after).length > 0)
          throw fail(`the layer is not that of version ${target.version} after a rollback`)
        return
      }
      case 'policy':
      case 'member': {
        const name = `${target.kind} ${target.id}`
        const others = changed.filter((each) => each !== name)
        if (others.length > 0) throw fail(`a change of ${name} also changed ${others.join(', ')}`)
        if (target.kind === 'member' || target.fields === null) return
        const entry = entriesOf(after).get(name) as Record<string, unknown> | undefined
        for (const [field, value] of Object.entries(target.fields))
          if (!isSame(entry?.[field], value)) throw fail(`${name} has not the field ${field} that was put`)
      }
    }
  }
}
