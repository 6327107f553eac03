/** The newest version of the config file that this release reads. */
export const CURRENT_VERSION = '1.2.0'

/** The same without the patch number, for messages. */
export const CURRENT_MINOR = '1.2'

/** The versions that this release reads, for messages. */
export const READABLE_VERSIONS = '1.0.x, 1.1.x or 1.2.x'

/** Parses the major and minor number of a version such as `1.2.0`. */
export function parseVersion(version: string): { major: number; minor: number } {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return { major, minor }
}

/** Whether a version is newer than {@link CURRENT_VERSION} by its minor number. */
export const isNewerMinor = (minor: number): boolean => minor > parseVersion(CURRENT_VERSION).minor
