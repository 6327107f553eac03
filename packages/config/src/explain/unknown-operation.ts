import { suggest } from '@holdfast/records'
import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import { formatValue } from '../problems/format-value.js'
import type { ResolvedConfig } from '../resolve/resolve-config.js'

const own = <T>(holder: { readonly [key: string]: T } | undefined, key: string): T | undefined =>
  holder !== undefined && Object.hasOwn(holder, key) ? holder[key] : undefined

/** The most similar known name, as the end of a sentence. */
function suggestion(name: string, known: readonly string[]): string {
  const near = suggest(name, known)
  return near === undefined ? '' : `; did you mean ${formatValue(near)}?`
}

/**
 * Notes about parts of an operation name that the configuration does not know. Such a name is valid and gets the default
 * policy, but it may be misspelt.
 */
export function unknownNames({ config, policies }: ResolvedConfig, operation: string): string[] {
  const [first = '', second, ...rest] = operation.split('.')
  const subsystems = [
    ...new Set([...Object.keys(config.subsystemMappings ?? {}), ...Object.keys(config.subsystems ?? {})]),
  ]
  const falls = `so the policy ${DEFAULT_POLICY_ID} applies`
  if (second === undefined) {
    if (policies.has(operation)) return []
    if (subsystems.includes(operation)) {
      const operations = Object.keys(own(config.subsystemMappings, operation) ?? {})
      return [
        `${formatValue(operation)} is a subsystem, not an operation: name one as ${operation}.${operations[0] ?? 'OPERATION'}`,
      ]
    }
    return [
      `no policy is called ${formatValue(operation)}, ${falls}${suggestion(operation, [...policies.keys()])}`,
    ]
  }
  if (!subsystems.includes(first))
    return [
      `the configuration has no subsystem ${formatValue(first)}, ${falls}${suggestion(first, subsystems)}`,
    ]
  const operations = own(config.subsystemMappings, first)
  if (operations === undefined) return []
  const kinds = own(operations, second)
  if (kinds === undefined)
    return [
      `the subsystem ${formatValue(first)} maps no operation ${formatValue(second)}, ${falls}${suggestion(second, Object.keys(operations))}`,
    ]
  const kind = rest.join('.')
  if (kind === '' || Object.hasOwn(kinds, kind)) return []
  return [`${first}.${second} maps no kind ${formatValue(kind)}${suggestion(kind, Object.keys(kinds))}`]
}
