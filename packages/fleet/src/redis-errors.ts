/** Errors about one key or an unknown script. Redis still accepts other commands. */
const PER_KEY_ERRORS = new Set(['NOSCRIPT', 'WRONGTYPE', 'ERR'])

/** Older releases of Redis wrap the error of a command in an error of the script. */
const SCRIPT_ERROR_PATTERN = /^ERR Error running script .*?-([A-Z]{2,})\b/

/** The error of a script that ran a command without permission. */
const FORBIDDEN_PATTERN = /^ERR .*(can't run this command|can't access|no permission|ACL failure)/i

/**
 * Whether the error reply to a command means that Redis does not serve this node: it is read-only, out of memory, closed to this
 * user, loading, or has another problem that does not concern one key only.
 */
export function isServerRejection(command: string, message: string): boolean {
  const code = SCRIPT_ERROR_PATTERN.exec(message)?.[1] ?? message.split(' ', 1)[0] ?? ''
  // Scripts and the subscription are needed for sharing. Another forbidden command only fails for the feature that sent it.
  if (code === 'NOPERM') return /^(EVAL|SUBSCRIBE)/i.test(command)
  return !PER_KEY_ERRORS.has(code) || FORBIDDEN_PATTERN.test(message)
}

/** The error message without the hash and line of the script. */
export const formatRedisError = (message: string) => message.replace(/ script: [0-9a-f]{40}\b.*$/, '')

/** A key for a write probe with the same hash tag and prefix as another key, so that the same slot and permissions apply. */
export const writeProbeKey = (key: string) => `${/^[^}]*\}/.exec(key)?.[0] ?? key}:trial`
