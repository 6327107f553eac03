import { type Clock, HoldfastError } from 'holdfast'
import type { Actor } from '../../kit.js'
import type { LayerStore, LayerVersion, Store } from '../../store/store.js'
import { configInvalid, type Problem, show } from '../problem.js'
import { policyEntryCodec } from '../schema/schema.js'
import type { Layer } from './layer.js'
import { memberChangeCodec } from './member-schema.js'

/** Who changed the layer, when and why. */
export interface LayerChange {
  readonly version: number
  readonly by: string
  readonly reason?: string | undefined
  readonly at: Date
}

/** So often a change is made anew where somebody else was quicker. */
const TRIES = 20

/** The layer of changes made through the API: every version of it is kept, and any can be gone back to. */
export class LayerHistory {
  private readonly store: LayerStore
  private readonly clock: Pick<Clock, 'wall'>

  constructor({ store, clock }: { store: Pick<Store, 'layers'>; clock: Pick<Clock, 'wall'> }) {
    this.store = store.layers
    this.clock = clock
  }

  /** The layer as it is stored. @throws CONFIG_INVALID where this release cannot read it */
  async load(): Promise<Layer> {
    return layerOf(await this.store.latest())
  }

  /**
   * Stores what `change` makes of the layer. It is called again where somebody else changed the layer meanwhile, so it must
   * do nothing else; what it throws is thrown, and nothing is stored.
   */
  async change(change: (layer: Layer) => Layer, actor?: Actor): Promise<Layer> {
    for (let tries = 0; tries < TRIES; tries++) {
      const latest = await this.store.latest()
      const layer = change(layerOf(latest))
      if (await this.append(latest, layer, actor)) return layer
    }
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      'the layer of changes is being changed all the time: try again',
    )
  }

  /** Goes back to a version, which becomes the newest once more; 0 is the layer before any change. */
  async rollback(version: number, actor?: Actor): Promise<Layer> {
    const versions = await this.store.history()
    const found = versions.find((known) => known.version === version)
    if (found === undefined && version !== 0) {
      const known = versions.map((entry) => entry.version).toReversed()
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `version: got ${show(version)}, takes ${known.length === 0 ? '0: nothing was changed yet' : `0 or one of ${known.join(', ')}`}`,
      )
    }
    const layer = layerOf(found)
    return this.change(() => layer, { ...actor, reason: actor?.reason ?? `rollback to version ${version}` })
  }

  /** Drops all changes. */
  async clear(actor?: Actor): Promise<Layer> {
    const cleared: Layer = {}
    // What is stored may be what cannot be read, and is not read for this.
    for (let tries = 0; tries < TRIES; tries++)
      if (
        await this.append(await this.store.latest(), cleared, { ...actor, reason: actor?.reason ?? 'clear' })
      )
        return cleared
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      'the layer of changes is being changed all the time: try again',
    )
  }

  /** All versions, newest first. */
  async history(): Promise<LayerChange[]> {
    const versions = await this.store.history()
    return versions.map(({ version, by, reason, at }) => ({
      version,
      by,
      ...(reason !== undefined && { reason }),
      at,
    }))
  }

  private async append(
    latest: LayerVersion | undefined,
    layer: Layer,
    actor: Actor | undefined,
  ): Promise<boolean> {
    const after = latest?.version ?? 0
    const { by = 'unknown', reason } = actor ?? {}
    const at = new Date(this.clock.wall())
    return this.store.append(
      { version: after + 1, by, ...(reason !== undefined && { reason }), at, layer },
      after,
    )
  }
}

/** A stored layer, checked: it may have been written by another release. */
function layerOf(stored: LayerVersion | undefined): Layer {
  if (stored === undefined) return {}
  const layer = stored.layer as Layer | null
  const problems: Problem[] = []
  if (typeof layer !== 'object' || layer === null)
    problems.push({ path: '', message: `got ${show(layer)}, takes an object` })
  else
    for (const [path, readable] of entriesOf(layer))
      if (!readable)
        problems.push({ path, message: 'cannot be read by this release (roll back, or clear the layer)' })
  if (problems.length > 0) throw configInvalid(`version ${stored.version} of the layer of changes`, problems)
  return layer ?? {}
}

/** What a layer holds, and whether this release can read it. */
function* entriesOf({ policies = {}, pools = {} }: Layer): Iterable<[path: string, readable: boolean]> {
  for (const [id, entry] of Object.entries(policies))
    yield [`policies.${id}`, entry === null || policyEntryCodec.safeDecode(entry).success]
  for (const [pool, { members = {} }] of Object.entries(pools))
    for (const [id, entry] of Object.entries(members))
      yield [`pools.${pool}.members.${id}`, entry === null || memberChangeCodec.safeDecode(entry).success]
}
