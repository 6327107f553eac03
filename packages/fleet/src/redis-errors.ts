/** What Redis says no to on account of one key, or because it does not know a script: it takes anything else. */
const PER_KEY_ERRORS = new Set(['NOSCRIPT', 'WRONGTYPE', 'ERR'])

/** Older releases put what a command of a script was told into an error of the script. */
const SCRIPT_ERROR_PATTERN = /^ERR Error running script .*?-([A-Z]{2,})\b/

/** A command of a script that its user may not send. */
const FORBIDDEN_PATTERN = /^ERR .*(can't run this command|can't access|no permission|ACL failure)/i

/**
 * Whether an error that Redis answered a command with means that it does not serve this node: it is read-only, full, closed to
 * this user, loading, or anything else that is no matter of one key.
 */
export function isServerRejection(command: string, message: string): boolean {
  const code = SCRIPT_ERROR_PATTERN.exec(message)?.[1] ?? message.split(' ', 1)[0] ?? ''
  // What is shared is told by scripts and heard; any other command that this user may not send is missed by those who sent it.
  if (code === 'NOPERM') return /^(EVAL|SUBSCRIBE)/i.test(command)
  return !PER_KEY_ERRORS.has(code) || FORBIDDEN_PATTERN.test(message)
}

/** What Redis said, without the line of the script that it said it to. */
export const formatRedisError = (message: string) => message.replace(/ script: [0-9a-f]{40}\b.*$/, '')

/** Writes something, to see whether Redis takes it. KEYS: where. */
export const WRITE_PROBE = "redis.call('SET', KEYS[1], '1', 'PX', 10000) return 1"

/** A key for a trial that lies where another lies, and that may be written by those who may write that. */
export const writeProbeKey = (key: string) => `${/^[^}]*\}/.exec(key)?.[0] ?? key}:trial`
