import { KeyRing, type LayerStore, type LayerVersion, type Store } from '@holdfast/store'
import { type Clock, HoldfastError } from 'holdfast'
import { createOptionsError, createProblem } from 'holdfast/internal'
import { createConfigInvalid } from '../problems/describe.js'
import { formatValue } from '../problems/format-value.js'
import { type ConfigProblem, mismatch } from '../problems/problem.js'
import type { Actor } from '../runtime-context.js'
import type { Layer } from '../schema/layer.js'
import { memberChangeCodec } from '../schema/member-change.js'
import { policyEntryCodec } from '../schema/schema.js'
import { diffLayers, type LayerDifference } from './diff.js'
import { decryptMemberUrls, encryptMemberUrls, hasOutdatedSecrets } from './member-secrets.js'

const NO_KEYS = new KeyRing(undefined)

/** A version of the layer: who changed it, when and why. */
export interface LayerChange {
  /** The number of the version, from 1. */
  readonly version: number
  /** Who made the change. */
  readonly by: string
  /** Why the change was made. */
  readonly reason?: string | undefined
  /** When the change was made. */
  readonly at: Date
}

/** How often a change is repeated after concurrent changes. */
const MAX_APPEND_ATTEMPTS = 20

/** The layer of changes made through the API. All versions are kept, and a rollback can return to any of them. */
export class LayerHistory {
  private readonly store: LayerStore
  private readonly clock: Pick<Clock, 'wall'>
  /** The newest version that this process has read or written. */
  private knownVersion = 0

  /** The keys that encrypt member urls with credentials. */
  private readonly keys: () => KeyRing

  constructor(
    { store, clock }: { store: Pick<Store, 'layers'>; clock: Pick<Clock, 'wall'> },
    keys: () => KeyRing = () => NO_KEYS,
  ) {
    this.store = store.layers
    this.clock = clock
    this.keys = keys
  }

  /** Loads the stored layer. @throws CONFIG_INVALID where this release cannot read it */
  async load(): Promise<Layer> {
    const latest = await this.store.latest()
    this.knownVersion = latest?.version ?? 0
    return this.open(latest)
  }

  /** The newest version if another process wrote it and this one has not read it yet. */
  async newVersion(): Promise<LayerChange | undefined> {
    const latest = await this.store.latest()
    return latest === undefined || latest.version === this.knownVersion ? undefined : toLayerChange(latest)
  }

  /** When the layer last changed a policy; undefined where it never did. */
  async changedAt(policyId: string): Promise<Date | undefined> {
    const policyEntry = ({ layer }: LayerVersion) =>
      JSON.stringify((layer as Layer | null)?.policies?.[policyId]) ?? 'nothing'
    const versions = await this.store.history()
    return versions.find((version, i) => {
      const before = versions[i + 1]
      return policyEntry(version) !== (before === undefined ? 'nothing' : policyEntry(before))
    })?.at
  }

  /**
   * Stores the result of `change`. It is called again after a concurrent change, so it must have no side effects. An error
   * of `change` is thrown, and nothing is stored.
   */
  async change(change: (layer: Layer) => Layer, actor?: Actor): Promise<Layer> {
    for (let attempts = 0; attempts < MAX_APPEND_ATTEMPTS; attempts++) {
      const latest = await this.store.latest()
      const layer = change(this.open(latest))
      if (await this.append(latest, layer, actor)) return layer
    }
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      'the layer of changes has too many concurrent changes; retry',
    )
  }

  /**
   * Stores an earlier version as the newest one; 0 is the layer before any change. An error of `check` is thrown, and
   * nothing is stored.
   */
  async rollback(version: number, actor?: Actor, check: (layer: Layer) => void = () => {}): Promise<Layer> {
    const layer = await this.layerOf(version, 'the layer of changes cannot be rolled back')
    check(layer)
    return this.change(() => layer, { ...actor, reason: actor?.reason ?? `rollback to version ${version}` })
  }

  /** The differences from one version to another; 0 is the layer before any change. `from` is the newest version by default. */
  async diff(to: number, from?: number): Promise<LayerDifference[]> {
    const problem = 'the versions of the live changes cannot be compared'
    const before =
      from === undefined ? this.open(await this.store.latest()) : await this.layerOf(from, problem)
    return diffLayers(before, await this.layerOf(to, problem))
  }

  /** The layer of a version. @throws INVALID_OPTIONS for an unknown version */
  private async layerOf(version: number, problem: string): Promise<Layer> {
    const versions = await this.store.history()
    const found = versions.find((known) => known.version === version)
    if (found === undefined && version !== 0)
      throw createOptionsError(problem, [
        createProblem('version', 'invalid', formatVersions(versions), formatValue(version)),
      ])
    return this.open(found)
  }

  /** Deletes all changes. */
  async clear(actor?: Actor): Promise<Layer> {
    const cleared: Layer = {}
    // The stored layer is not read, because it may be unreadable.
    for (let attempts = 0; attempts < MAX_APPEND_ATTEMPTS; attempts++)
      if (
        await this.append(await this.store.latest(), cleared, { ...actor, reason: actor?.reason ?? 'clear' })
      )
        return cleared
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      'the layer of changes has too many concurrent changes; retry',
    )
  }

  /** All versions, newest first. */
  async history(): Promise<LayerChange[]> {
    const versions = await this.store.history()
    return versions.map(toLayerChange)
  }

  /**
   * Encrypts the credentials of members in every version with the newest key; without a key they are stored unencrypted.
   * Returns the number of rewritten versions, and those whose key is not configured.
   */
  async rotate(): Promise<{ rewritten: number; unreadable: string[] }> {
    const keys = this.keys()
    const unreadable = new Set<string>()
    let rewritten = 0
    for (const { version, layer } of await this.store.history()) {
      if (!hasOutdatedSecrets(layer, keys)) continue
      const problems: ConfigProblem[] = []
      const opened = decryptMemberUrls(layer, keys, (problem) => problems.push(problem))
      for (const { path } of problems) unreadable.add(path)
      if (problems.length > 0) continue
      await this.store.rewrite(version, encryptMemberUrls(opened as Layer, keys))
      rewritten++
    }
    return { rewritten, unreadable: [...unreadable] }
  }

  private open(stored: LayerVersion | undefined): Layer {
    if (stored === undefined) return {}
    const problems: ConfigProblem[] = []
    const layer = decryptMemberUrls(stored.layer, this.keys(), (problem) => problems.push(problem))
    if (problems.length > 0)
      throw createConfigInvalid(`version ${stored.version} of the layer of changes`, problems)
    return parseStoredLayer({ ...stored, layer })
  }

  private async append(
    latest: LayerVersion | undefined,
    layer: Layer,
    actor: Actor | undefined,
  ): Promise<boolean> {
    const after = latest?.version ?? 0
    const { by = 'unknown', reason } = actor ?? {}
    const at = new Date(this.clock.wall())
    const stored = encryptMemberUrls(layer, this.keys())
    const next = { version: after + 1, by, ...(reason !== undefined && { reason }), at, layer: stored }
    const appended = await this.store.append(next, after)
    if (appended) this.knownVersion = next.version
    return appended
  }
}

const toLayerChange = ({ version, by, reason, at }: LayerVersion): LayerChange => ({
  version,
  by,
  ...(reason !== undefined && { reason }),
  at,
})

/** Formats the existing versions; of many only the first and the last. */
function formatVersions(versions: readonly LayerVersion[]): string {
  const [newest, oldest] = [versions[0], versions.at(-1)]
  if (newest === undefined || oldest === undefined) return '0 (there are no changes)'
  return newest === oldest ? `0 or ${newest.version}` : `0, or ${oldest.version} to ${newest.version}`
}

/** Checks a stored layer, because another release may have written it. */
function parseStoredLayer(stored: LayerVersion): Layer {
  const layer = stored.layer as Layer | null
  const problems: ConfigProblem[] = []
  if (typeof layer !== 'object' || layer === null)
    problems.push({ path: '', ...mismatch('an object', formatValue(layer)) })
  else
    for (const [path, readable] of layerEntries(layer))
      if (!readable)
        problems.push({
          path,
          code: 'not_readable',
          expected: 'an entry of this release',
          got: 'another release wrote it',
          hint: 'roll back, or clear the layer',
        })
  if (problems.length > 0)
    throw createConfigInvalid(`version ${stored.version} of the layer of changes`, problems)
  return layer ?? {}
}

/** The entries of a layer, and whether this release can read each. */
function* layerEntries({ policies = {}, pools = {} }: Layer): Iterable<[path: string, readable: boolean]> {
  for (const [id, entry] of Object.entries(policies))
    yield [`policies.${id}`, entry === null || policyEntryCodec.safeDecode(entry).success]
  for (const [pool, { members = {} }] of Object.entries(pools))
    for (const [id, entry] of Object.entries(members))
      yield [`pools.${pool}.members.${id}`, entry === null || memberChangeCodec.safeDecode(entry).success]
}
