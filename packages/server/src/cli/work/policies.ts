import { policyCodec } from '@holdfast/runtime'
import { type Context, serverOf } from '../context.js'
import { printList } from '../output/print.js'
import { span } from '../output/text.js'
import { listed, withApi } from '../source/api.js'
import { resolvedHere } from './resolved.js'

type Wire = ReturnType<typeof policyCodec.encode>

async function wanted(context: Context): Promise<readonly Wire[]> {
  if (serverOf(context) !== undefined)
    return withApi(
      context,
      {},
      async (api) => (await listed<Wire>(api, '/policies', { limit: 100_000 })).items,
    )
  const { policies } = await resolvedHere(context)
  return [...policies.values()].map(({ policy }) => policyCodec.encode(policy))
}

/** `policies`: every policy with every value filled in. */
export async function policies(context: Context): Promise<void> {
  printList(context, {
    items: await wanted(context),
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
      span(policy.base_delay as number),
      span(policy.max_delay as number),
      policy.jitter_type,
      span(policy.attempt_timeout as number | null),
      span(policy.total_timeout as number | null),
      policy.circuit_breaker ?? (policy.enable_circuit_breaker ? 'its own' : null),
    ],
    none: 'there are no policies',
  })
}
