import { type OptionProblem } from '../options.js'
import { type DecoratorName, type DecoratorSettings, overrideProblems } from './settings/table.js'

/**
 * Settings that override those of decorators. A key is `Class/method/Decorator/setting`, which takes precedence over
 * `Class/Decorator/setting`, which takes precedence over `Decorator/setting`; `enabled` is a setting of every decorator.
 */
export interface Overrides {
  readonly [key: string]: unknown
}

/** The overrides of one scope: `Class/method/Retry`, `Class/Retry` or `Retry`. */
interface OverrideValues {
  enabled?: boolean
  readonly settings: { [setting: string]: unknown }
}

/** Overrides by scope. */
export type OverrideTable = ReadonlyMap<string, OverrideValues>

/** Groups overrides by scope, and adds those that are invalid to `problems`. */
export function parseOverrides(overrides: Overrides, problems: OptionProblem[]): OverrideTable {
  const table = new Map<string, OverrideValues>()
  for (const [key, value] of Object.entries(overrides)) {
    const parts = key.split('/')
    const setting = parts.pop() ?? ''
    problems.push(...overrideProblems(key, parts.at(-1) ?? '', setting, value))
    const scope = parts.join('/')
    const values = table.get(scope) ?? { settings: {} }
    if (setting === 'enabled') values.enabled = value as boolean
    else values.settings[setting] = value
    table.set(scope, values)
  }
  return table
}

/** The scopes of the overrides for a decorator of a method, the least specific first. */
export function overridePlaces(
  kind: string,
  owner: string | undefined,
  method: string | undefined,
): readonly string[] {
  if (owner === undefined) return [kind]
  if (method === undefined) return [kind, `${owner}/${kind}`]
  return [kind, `${owner}/${kind}`, `${owner}/${method}/${kind}`]
}

/** The settings of a decorator of a method and their overrides, the least specific first; undefined if it is disabled. */
export function layersFor<K extends DecoratorName>(
  table: OverrideTable,
  owner: string | undefined,
  method: string,
  kind: K,
  declared: DecoratorSettings[K],
): DecoratorSettings[K][] | undefined {
  const layers = overridePlaces(kind, owner, method).flatMap((scope) => table.get(scope) ?? [])
  if (layers.findLast(({ enabled }) => enabled !== undefined)?.enabled === false) return undefined
  return [declared, ...layers.map(({ settings }) => settings as DecoratorSettings[K])]
}
