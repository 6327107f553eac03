import { userInfo } from 'node:os'

/** The name of the current user, for audit records of commands that work on a store. */
export function currentActor(): string {
  try {
    return `command:${userInfo().username}`
  } catch {
    // The user can be missing in the user database, for example in a container.
    return 'command:unknown'
  }
}
