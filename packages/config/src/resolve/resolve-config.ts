import type { Environment } from '../environment/interpolate.js'
import type { Problem } from '../problem.js'
import type { Layer } from '../schema/layer.js'
import type { OperationTable } from './operations.js'
import { type PolicySource, resolvePolicies } from './resolve-policy.js'

/** A config with its policies filled in: everything that calls ask of it, worked out once. */
export interface ResolvedConfig extends OperationTable, PolicySource {
  readonly layer: Layer
  readonly warnings: readonly Problem[]
  /** The file it was read from, where there is one. */
  readonly file?: string | undefined
  /** The variables of the environment that can be overrides. */
  readonly overrideVariables?: Environment | undefined
}

/** A config that was read. */
export interface LoadedConfig extends PolicySource {
  readonly warnings?: readonly Problem[] | undefined
  readonly file?: string | undefined
  readonly overrideVariables?: Environment | undefined
}

/** Puts the layer of the API's changes on a config, and fills in all policies. */
export const resolveConfig = (loaded: LoadedConfig, layer: Layer = {}): ResolvedConfig => ({
  ...loaded,
  layer,
  warnings: loaded.warnings ?? [],
  policies: resolvePolicies(loaded, layer),
  plans: new Map(),
})
