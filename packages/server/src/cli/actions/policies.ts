import { policyCodec } from '@holdfast/runtime'
import type { WirePolicy } from '../../wire-types.js'
import { fetchList, withApi } from '../backends/api.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { printList } from '../output/print.js'
import { formatSeconds } from '../output/text.js'
import { resolveConfigHere } from './resolved.js'

async function fetchPolicies(context: CommandContext): Promise<readonly WirePolicy[]> {
  if (serverUrl(context) !== undefined)
    return withApi(
      context,
      {},
      async (api) => (await fetchList<WirePolicy>(api, '/policies', { limit: 100_000 })).items,
    )
  const { policies } = await resolveConfigHere(context)
  return [...policies.values()].map(({ policy }) => policyCodec.encode(policy))
}

/** `policies`: lists all policies with all their values. */
export async function listPolicies(context: CommandContext): Promise<void> {
  printList(context, {
    items: await fetchPolicies(context),
    head: [
      'id',
      'attempts',
      'backoff',
      'base delay',
      'max delay',
      'jitter',
      'attempt timeout',
      'total timeout',
      'breaker',
    ],
    row: (policy) => [
      policy.enabled ? policy.id : `${policy.id} (disabled)`,
      policy.max_attempts,
      policy.backoff_type,
      formatSeconds(policy.base_delay),
      formatSeconds(policy.max_delay),
      policy.jitter_type,
      formatSeconds(policy.attempt_timeout),
      formatSeconds(policy.total_timeout),
      policy.circuit_breaker ?? (policy.enable_circuit_breaker ? 'dedicated' : null),
    ],
    emptyMessage: 'no policies found',
  })
}
