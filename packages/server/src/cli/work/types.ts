import type { Config } from '@holdfast/runtime/config'
import type { Context } from '../context.js'
import { printJson } from '../output/print.js'
import { calledHere, loadFile } from '../source/file.js'
import { put } from './write.js'

/** Policies that are there whatever a file says. */
const READY = [
  'default',
  'default_exponential_backoff',
  'aggressive_retry',
  'conservative_retry',
  'linear_backoff',
  'rate_limited',
]

/** The names that a config makes: of policies, operations, breakers and pools. */
export function namesOf(config: Config): Record<'policies' | 'operations' | 'services' | 'pools', string[]> {
  const policies = [...new Set([...READY, ...Object.keys(config.policies ?? {})])]
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

const union = (name: string, about: string, words: readonly string[]): string => {
  const body = words.length === 0 ? ' never' : words.map((word) => `\n  | ${JSON.stringify(word)}`).join('')
  return `/** ${about} */\nexport type ${name} =${body}\n`
}

/** `types`: the names of the file as TypeScript types. */
export async function types(context: Context, { out }: { out?: string }): Promise<void> {
  const { checked, file } = await loadFile(context)
  const names = namesOf(checked.config)
  if (context.shared.json) return printJson(context, names)
  const text = [
    `// Made by \`holdfast types\` from ${calledHere(context, file)}: change that file and make this one again.\n`,
    union('PolicyId', 'A policy, as `policy` of a call takes it.', names.policies),
    union('OperationName', 'An operation, as `hf.run` and `hf.guard` take it.', names.operations),
    union('ServiceName', 'A circuit breaker, as `service` of a call takes it.', names.services),
    union('PoolId', 'A pool, as `pool` of a call takes it.', names.pools),
  ].join('\n')
  await put(context, out, text, { isPublic: true })
}
