import type { Environment } from '../environment/interpolate.js'
import type { Layer } from '../schema/layer.js'
import type { OperationTable } from './operations.js'
import { type PolicySource, resolvePolicies } from './resolve-policy.js'

/** A config with resolved policies: everything that calls need, computed once. */
export interface ResolvedConfig extends OperationTable, PolicySource {
  /** The changes made through the API. */
  readonly layer: Layer
  /** The config file, if there is one. */
  readonly file?: string | undefined
  /** The variables of the environment that can be overrides. */
  readonly overrideVariables?: Environment | undefined
}

/** A loaded config. */
export interface LoadedConfig extends PolicySource {
  readonly file?: string | undefined
  readonly overrideVariables?: Environment | undefined
}

/** Applies the changes made through the API to a config, and resolves all policies. */
export const resolveConfig = (loaded: LoadedConfig, layer: Layer = {}): ResolvedConfig => ({
  ...loaded,
  layer,
  policies: resolvePolicies(loaded, layer),
  plans: new Map(),
})
