import type { LookupFunction } from 'node:net'
import { PrivateTargetError, TargetPolicy } from '@holdfast/proxy'
import { ApiError } from '../http/errors.js'

function createForbiddenError(host: string): ApiError {
  const message = `${host} is a private address or name; proxy.allow_private_targets: true in the config file allows it`
  return new ApiError('FORBIDDEN', message, {
    details: [{ in: 'body', path: 'url', message: 'takes an address of the public network' }],
  })
}

/** The rule of the forward proxy: what may not be reached through that may not be reached through here either. */
const policy = new TargetPolicy()

/** @throws FORBIDDEN for a target that is not on the public network */
export async function assertPublicTarget({ hostname }: URL): Promise<void> {
  if (!(await policy.allows(hostname))) throw createForbiddenError(hostname.replace(/^\[(.*)\]$/, '$1'))
}

/** Resolves for a connection, and fails where any address is private: a name may mean another place by then. */
export const lookupPublic: LookupFunction = (host, options, callback) =>
  policy.lookup(host, options, (error, address, family) =>
    callback(error instanceof PrivateTargetError ? createForbiddenError(host) : error, address, family),
  )
