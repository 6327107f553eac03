import { type DecoratorName, type DecoratorSettings, overrideProblems } from './settings/table.js'

/**
 * Settings that win over those written at a decorator. A key is `Class/method/Decorator/setting`, which wins over
 * `Class/Decorator/setting`, which wins over `Decorator/setting`; `enabled` is a setting of every decorator.
 */
export interface Overrides {
  readonly [key: string]: unknown
}

/** What was said at one place: `Class/method/Retry`, `Class/Retry` or `Retry`. */
interface OverrideValues {
  enabled?: boolean
  readonly settings: { [setting: string]: unknown }
}

/** Overrides by their place. */
export type OverrideTable = ReadonlyMap<string, OverrideValues>

/** Sorts overrides by their place, adding a sentence to `problems` for each that is wrong. */
export function parseOverrides(overrides: Overrides, problems: string[]): OverrideTable {
  const table = new Map<string, OverrideValues>()
  for (const [key, value] of Object.entries(overrides)) {
    const parts = key.split('/')
    const setting = parts.pop() ?? ''
    problems.push(...overrideProblems(key, parts.at(-1) ?? '', setting, value))
    const location = parts.join('/')
    const values = table.get(location) ?? { settings: {} }
    if (setting === 'enabled') values.enabled = value as boolean
    else values.settings[setting] = value
    table.set(location, values)
  }
  return table
}

/** The places of overrides that concern a decorator of a method, the least specific first. */
export function overridePlaces(
  kind: string,
  owner: string | undefined,
  method: string | undefined,
): readonly string[] {
  if (owner === undefined) return [kind]
  if (method === undefined) return [kind, `${owner}/${kind}`]
  return [kind, `${owner}/${kind}`, `${owner}/${method}/${kind}`]
}

/** What was said about a decorator of a method, the least specific first; undefined where it is switched off. */
export function layersFor<K extends DecoratorName>(
  table: OverrideTable,
  owner: string | undefined,
  method: string,
  kind: K,
  declared: DecoratorSettings[K],
): DecoratorSettings[K][] | undefined {
  const layers = overridePlaces(kind, owner, method).flatMap((location) => table.get(location) ?? [])
  if (layers.findLast(({ enabled }) => enabled !== undefined)?.enabled === false) return undefined
  return [declared, ...layers.map(({ settings }) => settings as DecoratorSettings[K])]
}
