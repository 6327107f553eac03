import type { Config } from '../schema/schema.js'
import { type Spelling, spell } from '../schema/walk.js'
import type { Environment } from '../text/interpolate.js'

/** A config of which every value by itself is right. */
export interface Facts {
  readonly config: Config
  readonly spelling: Spelling
  /** What stands at a path of the wire, for messages. */
  shown(path: readonly string[]): string
  /** A path of the wire with the line it is on, for messages about two places. */
  where(path: readonly string[]): string
  /** The paths whose value a variable gave. */
  readonly variables: ReadonlySet<string>
  readonly env: Environment
}

/** Tells of something at a path of the wire. */
export type Tell = (path: readonly string[], message: string, at?: 'key' | 'value') => void

/** A key of the wire as the source spells it. */
export const keyIn = (facts: Facts, key: string): string => spell(key, facts.spelling)
