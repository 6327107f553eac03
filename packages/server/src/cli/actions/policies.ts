import { policyCodec } from '@holdfast/runtime'
import { fetchList, withApi } from '../backends/api.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { printList } from '../output/print.js'
import { formatSeconds } from '../output/text.js'
import { resolveConfigHere } from './resolved.js'

type WirePolicy = ReturnType<typeof policyCodec.encode>

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

/** `listPolicies`: every policy with every value filled in. */
export async function listPolicies(context: CommandContext): Promise<void> {
  printList(context, {
    items: await fetchPolicies(context),
    head: [
      'id',
      'attempts',
      'backoff',
      'first',
      'longest',
      'jitter',
      'attempt limit',
      'total limit',
      'breaker',
    ],
    row: (policy) => [
      policy.enabled ? policy.id : `${policy.id} (off)`,
      policy.max_attempts,
      policy.backoff_type,
      formatSeconds(policy.base_delay as number),
      formatSeconds(policy.max_delay as number),
      policy.jitter_type,
      formatSeconds(policy.attempt_timeout as number | null),
      formatSeconds(policy.total_timeout as number | null),
      policy.circuit_breaker ?? (policy.enable_circuit_breaker ? 'its own' : null),
    ],
    emptyMessage: 'there are no policies',
  })
}
