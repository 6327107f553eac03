import { camelKey } from '@holdfast/records'
import type { Mapping } from '../mapping.js'
import type { TextPosition } from '../problems/problem.js'
import { locationKey, type SourceLocations } from '../source-locations.js'

/** Where the values of a config are written. */
export interface LocatedSource {
  readonly file?: string | undefined
  locate?(path: readonly string[], at?: 'key' | 'value'): TextPosition
}

/** The position of each default, override and field of a policy, or the variable that sets it. */
export function sourceLocationsOf(
  wire: Mapping,
  source: LocatedSource,
  variables: ReadonlyMap<string, string>,
): SourceLocations {
  const locations: Record<string, string> = {}
  const addLocation = (path: readonly string[]): void => {
    const field = camelKey(path.at(-1) as string)
    const variable = variables.get(locationKey(...path))
    if (variable !== undefined) locations[locationKey(...path.slice(0, -1), field)] = variable
    else if (source.locate) {
      const { line, column } = source.locate(path)
      locations[locationKey(...path.slice(0, -1), field)] = `${source.file}:${line}:${column}`
    }
  }
  for (const field of Object.keys(Object(wire.global_defaults))) addLocation(['global_defaults', field])
  for (const key of Object.keys(Object(wire.overrides)))
    if (source.locate) {
      const { line, column } = source.locate(['overrides', key])
      locations[locationKey('overrides', key)] = `${source.file}:${line}:${column}`
    }
  for (const [id, entry] of Object.entries(Object(wire.policies)))
    for (const field of Object.keys(entry as object)) addLocation(['policies', id, field])
  return locations
}
