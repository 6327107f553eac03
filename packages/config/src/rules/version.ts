import { camelKey, snakeKey } from '@holdfast/records'
import { mismatch } from '../problems/problem.js'
import { CURRENT_MINOR, CURRENT_VERSION, isNewerMinor, parseVersion, READABLE_VERSIONS } from '../version.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** The sections of version 1.0. */
const SECTIONS_OF_1_0 = new Set(['version', 'policies', 'subsystemMappings', 'globalDefaults'])

/** The sections and keys that version 1.2.0 added, as paths of the wire. */
const ADDED_IN_1_2: readonly (readonly string[])[] = [
  ['errors'],
  ['proxy', 'connect_ports'],
  ['proxy', 'workers'],
  ['proxy', 'max_header_size'],
  ['server', 'header_timeout'],
  ['server', 'request_timeout'],
  ['server', 'idle_timeout'],
  ['server', 'max_connections'],
]

/** Whether mappings of this version may name policies that do not exist. */
export const isV1 = (version: string): boolean => parseVersion(version).minor === 0

/** Checks the version, and warns about sections and keys that are newer than it. */
export function checkVersion(
  { config }: RuleContext,
  report: ReportProblem,
  reportWarning: ReportProblem,
): void {
  const { major, minor } = parseVersion(config.version)
  if (major !== 1) {
    report(['version'], mismatch(READABLE_VERSIONS, `"${config.version}"`))
    return
  }
  if (isNewerMinor(minor))
    reportWarning(['version'], {
      ...mismatch(`${CURRENT_MINOR} or older`, `"${config.version}"`),
      hint: `it is read as ${CURRENT_VERSION}`,
    })
  const added = minor < 2 ? ADDED_IN_1_2.filter((path) => isPresent(config, path)) : []
  if (minor < 1) {
    const newer = new Set(added.filter(({ length }) => length === 1).map(([section]) => section))
    for (const section of Object.keys(config).map(snakeKey))
      if (!SECTIONS_OF_1_0.has(camelKey(section)) && !newer.has(section))
        reportWarning([section], { code: 'needs_version', expected: '1.1.0', got: 'section' }, 'key')
  }
  for (const path of added)
    reportWarning(
      path,
      { code: 'needs_version', expected: '1.2.0', got: path.length === 1 ? 'section' : 'key' },
      'key',
    )
}

/** Whether a config has a value at a path of the wire. */
const isPresent = (config: object, path: readonly string[]): boolean =>
  path.reduce<unknown>((held, step) => (Object(held) as Record<string, unknown>)[camelKey(step)], config) !==
  undefined
