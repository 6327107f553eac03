import type { Socket } from 'node:net'
import type { House } from './house.js'
import { type Refusal, tooManyGuesses, UNAUTHORIZED } from './refusals.js'
import type { Caller } from './users.js'

/** The caller that the credentials belong to, or the response that refuses the request. */
export function authenticate(
  { users, throttle }: Pick<House, 'users' | 'throttle'>,
  authorization: string | undefined,
  { remoteAddress = '' }: Socket,
): Caller | Refusal {
  const caller = users.admit(authorization)
  if (caller === undefined && authorization === undefined) return UNAUTHORIZED
  if (caller !== undefined && caller.user === undefined) return caller
  const wait =
    caller?.user === undefined
      ? throttle.recordFailure(remoteAddress, users.userIn(authorization ?? ''))
      : throttle.recordSuccess(remoteAddress, caller.user)
  return wait > 0 ? tooManyGuesses(wait) : (caller ?? UNAUTHORIZED)
}

export const isRefusal = (given: Caller | Refusal): given is Refusal => 'status' in given
