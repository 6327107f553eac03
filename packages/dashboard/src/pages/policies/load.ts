import { fetchPages, getJson, sendRequest } from '../../api/client.js'
import type { WireExplanation, WirePolicy } from '../../api/types.js'

/** The part of the effective configuration that concerns policies. */
export interface PolicyConfig {
  readonly circuit_breakers?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly subsystem_mappings?: Readonly<
    Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>
  >
  readonly pools?: Readonly<Record<string, { readonly policy?: string }>>
}

/** A policy with everything that its page shows. */
export interface LoadedPolicy {
  readonly policy: WirePolicy
  /** Undefined for a policy that does not exist yet. */
  readonly etag: string | undefined
  /** The policy of the file, without live changes; undefined where the file has none. */
  readonly filePolicy: WirePolicy | undefined
  readonly config: PolicyConfig
  readonly origins: WireExplanation['policies'][number]['values']
}

const pathOf = (id: string): string => `/policies/${encodeURIComponent(id)}`

/** Loads a policy. */
export async function loadPolicy(id: string, signal: AbortSignal): Promise<LoadedPolicy> {
  const [response, filePolicy, config, explained] = await Promise.all([
    sendRequest('GET', pathOf(id), { signal }),
    // The file has no policy that was created through the API.
    getJson<WirePolicy>(pathOf(id), { live_changes: 'false' }, signal).catch(() => undefined),
    getJson<PolicyConfig>('/config', {}, signal),
    getJson<WireExplanation>('/config/explain', { operation: id }, signal),
  ])
  return {
    policy: (await response.json()) as WirePolicy,
    etag: response.headers.get('etag') ?? undefined,
    filePolicy,
    config,
    origins: explained.policies.find(({ policy_id }) => policy_id === id)?.values ?? {},
  }
}

/** A new policy with the values of another one, and the ids that exist already. */
export interface NewPolicy {
  readonly found: LoadedPolicy
  readonly existingIds: ReadonlySet<string>
}

/** Loads the values of a new policy: those of `source`, without its name and description. */
export async function loadNewPolicy(source: string, signal: AbortSignal): Promise<NewPolicy> {
  const [policy, config, policies] = await Promise.all([
    getJson<WirePolicy>(pathOf(source), {}, signal),
    getJson<PolicyConfig>('/config', {}, signal),
    loadPolicies(signal),
  ])
  const { name: _, description: __, ...values } = policy
  return {
    found: {
      policy: values as WirePolicy,
      etag: undefined,
      filePolicy: undefined,
      config,
      origins: {},
    },
    existingIds: new Set(policies.map(({ id }) => id)),
  }
}

/** Loads all policies. */
export async function loadPolicies(signal: AbortSignal): Promise<WirePolicy[]> {
  const all: WirePolicy[] = []
  for await (const page of fetchPages<WirePolicy>('/policies', {}, 'items', signal)) all.push(...page)
  return all
}
