import { lookup as lookUp } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { isLocalName, isPrivateAddress } from '@holdfast/proxy'
import { Refusal } from '../answer/failure.js'

function refused(host: string): Refusal {
  const message = `${host} is a private address or name, which requests may not go to unless the file says proxy.allow_private_targets`
  return new Refusal('FORBIDDEN', message, {
    details: [{ in: 'body', path: 'url', message: 'takes an address of the public network' }],
  })
}

/**
 * Lets through only what is on the public network. A name that does not resolve here is let through: a proxy may know it,
 * and where there is none the connection fails by itself.
 *
 * @throws FORBIDDEN
 */
export async function demandPublic({ hostname }: URL): Promise<void> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) > 0 ? isPrivateAddress(host) : isLocalName(host)) throw refused(host)
  if (isIP(host) > 0) return
  const addresses = await new Promise<{ address: string }[]>((resolve) =>
    lookUp(host, { all: true }, (error, found) => resolve(error === null ? found : [])),
  )
  if (addresses.some(({ address }) => isPrivateAddress(address))) throw refused(host)
}

/** Resolves for a connection, and fails where any address is private: a name may mean another place by then. */
export const publicLookup: LookupFunction = (host, options, callback) => {
  lookUp(host, { ...options, all: true }, (error, found) => {
    const first = found?.[0]
    if (error !== null || first === undefined) callback(error ?? new Error(`${host} has no address`), '', 0)
    else if (found.some(({ address }) => isPrivateAddress(address))) callback(refused(host), '', 0)
    else if (options.all === true) callback(null, found)
    else callback(null, first.address, first.family)
  })
}
