import { formatPath } from '../problems/format-value.js'
import type { Layer } from '../schema/layer.js'

/** A value that differs between two versions of the live changes. */
export interface LayerDifference {
  /** The path of the value in a config file, for example `policies.fetch.max_attempts`. */
  readonly path: string
  /** The value before; absent if the value of the file applied. Null for a deleted policy or member, or a removed value. */
  readonly before?: unknown
  /** The value after; absent if the value of the file applies. */
  readonly after?: unknown
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The values of a layer by path. Lists are one value. */
function* valuesOf(input: unknown, path: readonly string[] = []): Iterable<[path: string, value: unknown]> {
  if (!isMapping(input)) yield [formatPath(path), input]
  else for (const [key, value] of Object.entries(input)) yield* valuesOf(value, [...path, key])
}

/** The differences of two versions of the live changes, in the order of their paths. */
export function diffLayers(before: Layer, after: Layer): LayerDifference[] {
  const [was, is] = [new Map(valuesOf(before)), new Map(valuesOf(after))]
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((path) => JSON.stringify(was.get(path)) !== JSON.stringify(is.get(path)))
    .toSorted()
    .map((path) => ({
      path,
      ...(was.has(path) && { before: was.get(path) }),
      ...(is.has(path) && { after: is.get(path) }),
    }))
}
