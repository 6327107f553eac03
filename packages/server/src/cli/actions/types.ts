import type { Config } from '@holdfast/runtime/config'
import { displayPath, loadFile } from '../backends/file.js'
import type { CommandContext } from '../context/context.js'
import { printJson } from '../output/print.js'
import { writeOrPrint } from './write.js'

/** Policies that are there whatever a file says. */
const BUILT_IN_POLICY_IDS = [
  'default',
  'default_exponential_backoff',
  'aggressive_retry',
  'conservative_retry',
  'linear_backoff',
  'rate_limited',
]

/** The names that a config makes: of policies, operations, breakers and pools. */
export function configNames(
  config: Config,
): Record<'policies' | 'operations' | 'services' | 'pools', string[]> {
  const policies = [...new Set([...BUILT_IN_POLICY_IDS, ...Object.keys(config.policies ?? {})])]
  const mapped = Object.entries(config.subsystemMappings ?? {}).flatMap(([subsystem, operations]) =>
    Object.entries(operations).flatMap(([operation, kinds]) => [
      `${subsystem}.${operation}`,
      ...Object.keys(kinds)
        .filter((kind) => kind !== 'default')
        .map((kind) => `${subsystem}.${operation}.${kind}`),
    ]),
  )
  return {
    policies,
    operations: [...mapped, ...policies],
    services: Object.keys(config.circuitBreakers ?? {}),
    pools: Object.keys(config.pools ?? {}),
  }
}

const formatUnion = (name: string, about: string, words: readonly string[]): string => {
  const body = words.length === 0 ? ' never' : words.map((word) => `\n  | ${JSON.stringify(word)}`).join('')
  return `/** ${about} */\nexport type ${name} =${body}\n`
}

/** `printTypes`: the names of the file as TypeScript types. */
export async function printTypes(context: CommandContext, { out }: { out?: string }): Promise<void> {
  const { checked, file } = await loadFile(context)
  const names = configNames(checked.config)
  if (context.globalOptions.json) return printJson(context, names)
  const text = [
    `// Made by \`holdfast types\` from ${displayPath(context, file)}: change that file and make this one again.\n`,
    formatUnion('PolicyId', 'A policy, as `policy` of a call takes it.', names.policies),
    formatUnion('OperationName', 'An operation, as `hf.run` and `hf.guard` take it.', names.operations),
    formatUnion('ServiceName', 'A circuit breaker, as `service` of a call takes it.', names.services),
    formatUnion('PoolId', 'A pool, as `pool` of a call takes it.', names.pools),
  ].join('\n')
  await writeOrPrint(context, out, text, { isPublic: true })
}
