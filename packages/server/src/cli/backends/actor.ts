import { userInfo } from 'node:os'

/** Who is at the keyboard, as the audit trail names them for what a command does on a store. */
export function currentActor(): string {
  try {
    return `command:${userInfo().username}`
  } catch {
    // A user without an entry has no name.
    return 'command:unknown'
  }
}
