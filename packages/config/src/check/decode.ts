import { isMapping, type Mapping } from '../mapping.js'
import { type Config, configCodec, configSchema } from '../schema/schema.js'
import { kindOf, walkPath } from '../schema/walk.js'
import { CURRENT_VERSION } from '../version.js'

/**
 * Decodes a wire config. Invalid values are reported and removed, so that the rules between values can be checked for all
 * others.
 */
export function decodeConfig(
  wire: Mapping,
  onProblem: (path: readonly string[]) => void,
): Config | undefined {
  for (let round = 0; round < MAX_DECODE_ROUNDS; round++) {
    const result = configCodec.safeDecode(round === 0 ? wire : { version: CURRENT_VERSION, ...wire })
    if (result.success) return result.data
    for (const issue of result.error.issues) {
      const path = issue.path.map(String)
      // A value that is missing from the second round on was removed in the first.
      if (round === 0) onProblem(path)
      removeAt(wire, path)
    }
  }
  return undefined
}

/** Removing a value may make its parent invalid, several levels up. */
const MAX_DECODE_ROUNDS = 6

function removeAt(wire: Mapping, path: readonly string[]): void {
  const last = path.at(-1)
  if (last === undefined) return
  const above = path.slice(0, -1)
  const parent = above.reduce<unknown>((value, step) => (Object(value) as Mapping)[step], wire)
  // A mapping that lacks a required key, and a list with an invalid entry, are removed completely.
  if (Array.isArray(parent) || (isMapping(parent) && !Object.hasOwn(parent, last))) removeAt(wire, above)
  else if (isMapping(parent)) {
    // An invalid policy stays as an empty one, so that references to it are not reported too.
    if (path.length === 2 && kindOf(walkPath(configSchema, path, 'wire').schema) === 'object')
      parent[last] = {}
    else delete parent[last]
  }
}
