import { type Configuration, configCodec, type WireConfig } from '@holdfast/runtime'
import { type Config, type Layer, layeredMembers, redactConfig, redactUrls } from '@holdfast/runtime/config'
import { forEachInTurns, nextMacrotask, REDACTED } from 'holdfast/internal'

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

/** How many members or policies are encoded in a turn of the event loop: 1 to 2 ms. */
const ENTRIES_PER_TURN = 50

type LayeredMember = ReturnType<typeof layeredMembers>[number]
type Pool = NonNullable<Config['pools']>[string]
type Policy = NonNullable<Config['policies']>[string]
type WirePool = NonNullable<WireConfig['pools']>[string]
type WirePolicy = NonNullable<WireConfig['policies']>[string]

const encodePart = (part: Partial<Config>): WireConfig => configCodec.encode(part as Config)

const redact = (wire: WireConfig): WireConfig => redactConfig(wire) as WireConfig

/**
 * The configuration in the form of a config file: with the live changes, and with secrets redacted. The event loop gets turns in
 * between, because there can be thousands of members.
 */
export async function encodeConfig({
  current,
  layer,
}: Pick<Configuration, 'current' | 'layer'>): Promise<object> {
  const { policies, pools } = current
  const wire = redact(
    encodePart({ ...current, ...(policies && { policies: {} }), ...(pools && { pools: {} }) }),
  )
  if (pools !== undefined) {
    const encoded: [id: string, pool: WirePool][] = []
    for (const [id, pool] of Object.entries(pools))
      encoded.push([id, await encodePool(pool, layeredMembers(layer, id, pool.members ?? []))])
    wire.pools = Object.fromEntries(encoded)
  }
  const encoded = await encodePolicies(policies ?? {}, layer.policies ?? {})
  if (policies !== undefined || encoded.length > 0) wire.policies = Object.fromEntries(encoded)
  return wire
}

/** A pool with the members that were added, changed and removed through the API. */
async function encodePool(pool: Pool, listed: readonly LayeredMember[]): Promise<WirePool> {
  const encode = (part: Pool): WirePool => redact(encodePart({ pools: { pool: part } })).pools?.['pool'] ?? {}
  if (listed.length === 0 && pool.members === undefined) return encode(pool)
  const members: NonNullable<WirePool['members']> = []
  await forEachInTurns(listed, ENTRIES_PER_TURN, ({ entry }) => {
    members.push(...(encode({ members: [entry] }).members ?? []))
  })
  await nextMacrotask()
  return { ...encode({ ...pool, members: [] }), members }
}

/** The policies with the fields that were changed through the API, without those that were deleted. */
async function encodePolicies(
  policies: Readonly<Record<string, Policy>>,
  changes: NonNullable<Layer['policies']>,
): Promise<[id: string, policy: WirePolicy][]> {
  const result: [id: string, policy: WirePolicy][] = []
  const ids = new Set([...Object.keys(policies), ...Object.keys(changes)])
  await forEachInTurns(ids, ENTRIES_PER_TURN, (id) => {
    const [policy = {}, change] = [policies[id], changes[id]]
    if (change === null) return
    const wire = encodePart({ policies: { policy } })
    const changed = { ...wire, policies: { policy: { ...wire.policies?.['policy'], ...change } } }
    result.push([id, redact(changed).policies?.['policy'] ?? {}])
  })
  return result
}
