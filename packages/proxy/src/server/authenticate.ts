import type { Socket } from 'node:net'
import type { ProxyHandlerContext } from './context.js'
import { type ErrorResponse, tooManyGuesses, UNAUTHORIZED } from './error-responses.js'
import type { ProxyCaller } from './users.js'

/** The caller that the credentials belong to, or the response that rejects the request. */
export function authenticate(
  { users, throttle }: Pick<ProxyHandlerContext, 'users' | 'throttle'>,
  authorization: string | undefined,
  { remoteAddress = '' }: Socket,
): ProxyCaller | ErrorResponse {
  const caller = users.authenticate(authorization)
  if (caller === undefined && authorization === undefined) return UNAUTHORIZED
  if (caller !== undefined && caller.user === undefined) return caller
  const wait =
    caller?.user === undefined
      ? throttle.recordFailure(remoteAddress, users.userIn(authorization ?? ''))
      : throttle.recordSuccess(remoteAddress, caller.user)
  return wait > 0 ? tooManyGuesses(wait) : (caller ?? UNAUTHORIZED)
}

export const isErrorResponse = (result: ProxyCaller | ErrorResponse): result is ErrorResponse =>
  'status' in result
