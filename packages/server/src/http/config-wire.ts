import { type Configuration, configCodec } from '@holdfast/runtime'
import { type Config, type Layer, layeredMembers, redactConfig, redactUrls } from '@holdfast/runtime/config'
import { REDACTED } from 'holdfast/internal'

/** Replaces the secret parts of URLs in values of live changes. Their other values are no secrets. */
export function redactChanges(value: unknown): unknown {
  if (typeof value === 'string') return redactUrls(value)
  if (Array.isArray(value)) return value.map(redactChanges)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redactChanges(each)]))
}

/** The paths of the values that were redacted in a configuration. */
export function redactedPaths(wire: unknown, path: readonly string[] = []): string[] {
  if (typeof wire === 'string') return wire.includes(REDACTED) ? [path.join('.')] : []
  if (typeof wire !== 'object' || wire === null) return []
  return Object.entries(wire).flatMap(([key, value]) => redactedPaths(value, [...path, key]))
}

/** The pools with the members that were added, changed and removed through the API. */
const poolsWithChanges = ({ pools }: Config, layer: Layer): Config['pools'] =>
  pools &&
  Object.fromEntries(
    Object.entries(pools).map(([id, pool]) => {
      const members = layeredMembers(layer, id, pool.members ?? []).map(({ entry }) => entry)
      return [id, members.length === 0 && pool.members === undefined ? pool : { ...pool, members }]
    }),
  )

/** The configuration in the form of a config file: with the live changes, and with secrets redacted. */
export function encodeConfig({ current, layer }: Pick<Configuration, 'current' | 'layer'>): object {
  const pools = poolsWithChanges(current, layer)
  const wire = configCodec.encode({ ...current, ...(pools && { pools }) })
  const policies: Record<string, object> = { ...wire.policies }
  for (const [id, change] of Object.entries(layer.policies ?? {}))
    if (change === null) delete policies[id]
    else policies[id] = { ...policies[id], ...change }
  return redactConfig({ ...wire, ...(Object.keys(policies).length > 0 && { policies }) }) as object
}
