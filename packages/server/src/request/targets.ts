import type { LookupFunction } from 'node:net'
import { PrivateTargetError, TargetPolicy } from '@holdfast/proxy'
import { Refusal } from '../answer/failure.js'

function refused(host: string): Refusal {
  const message = `${host} is a private address or name; proxy.allow_private_targets: true in the config file allows it`
  return new Refusal('FORBIDDEN', message, {
    details: [{ in: 'body', path: 'url', message: 'takes an address of the public network' }],
  })
}

/** The rule of the forward proxy: what may not be reached through that may not be reached through here either. */
const policy = new TargetPolicy()

/** @throws FORBIDDEN for a target that is not on the public network */
export async function demandPublic({ hostname }: URL): Promise<void> {
  if (!(await policy.allows(hostname))) throw refused(hostname.replace(/^\[(.*)\]$/, '$1'))
}

/** Resolves for a connection, and fails where any address is private: a name may mean another place by then. */
export const publicLookup: LookupFunction = (host, options, callback) =>
  policy.lookup(host, options, (error, address, family) =>
    callback(error instanceof PrivateTargetError ? refused(host) : error, address, family),
  )
