import type { LookupFunction } from 'node:net'
import { PrivateTargetError, TargetPolicy } from '@holdfast/proxy'
import { ApiError } from '../http/api-error.js'

function createForbiddenError(host: string): ApiError {
  const message = `${host} is a private address or name; proxy.allow_private_targets: true in the config file allows it`
  return new ApiError('FORBIDDEN', message, {
    details: [{ in: 'body', path: 'url', message: `expected a public address, got ${host}` }],
  })
}

/** The same policy as that of the forward proxy. */
const policy = new TargetPolicy()

/** @throws FORBIDDEN for a target that is not on the public network */
export async function assertPublicTarget({ hostname }: URL): Promise<void> {
  if (!(await policy.allows(hostname))) throw createForbiddenError(hostname.replace(/^\[(.*)\]$/, '$1'))
}

/** Resolves a name for a connection and fails where an address is private, because DNS can change after the first check. */
export const lookupPublic: LookupFunction = (host, options, callback) =>
  policy.lookup(host, options, (error, address, family) =>
    callback(error instanceof PrivateTargetError ? createForbiddenError(host) : error, address, family),
  )
