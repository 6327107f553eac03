import { snakeKey } from '../../codec/twin.js'
import type { Facts, Tell } from './facts.js'

/** The sections that files of version 1.0 have. */
const OLD_SECTIONS = new Set(['version', 'policies', 'subsystemMappings', 'globalDefaults'])

const partsOf = (version: string): number[] => version.split('.').map(Number)

/** Whether it is a version in which a mapping may name a policy that is not there. */
export const isOld = (version: string): boolean => partsOf(version)[1] === 0

/** Checks the version, and what it says about the sections that are there. */
export function checkVersion({ config }: Facts, problem: Tell, warning: Tell): void {
  const [major, minor = 0] = partsOf(config.version)
  if (major !== 1) {
    problem(
      ['version'],
      `got "${config.version}", takes 1.0.x or 1.1.x: this release cannot read other versions`,
    )
    return
  }
  if (minor > 1) warning(['version'], `got "${config.version}", which is newer than 1.1; it is read as 1.1.0`)
  if (minor > 0) return
  for (const section of Object.keys(config))
    if (!OLD_SECTIONS.has(section))
      warning([snakeKey(section)], 'is a section of version 1.1.0; it is used all the same', 'key')
}
