import { lookup as lookupDns } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from 'holdfast'
import { isLocalName, isPrivateAddress } from './address.js'

/** An address as a resolver gives it. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Resolves a name to all its addresses. */
export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>

/** How long an answer of the resolver is believed, and of how many names. */
const BELIEVED = 10_000
const MOST = 10_000

/** The operating system's resolver. */
export const resolveBySystem: Resolve = (name) =>
  new Promise((resolve, reject) =>
    lookupDns(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  )

/** The target is one that this proxy does not go to. As a mistake of the caller's it is not tried again. */
export class PrivateTargetError extends TypeError {}

interface Known {
  readonly until: number
  readonly addresses: Promise<readonly ResolvedAddress[]>
  /** Set once the name is known to be fine. */
  open: boolean
}

/** Says which targets may be gone to. Names are resolved, and what was found is believed for a few seconds. */
export class Targets {
  private readonly allowPrivate: boolean
  private readonly resolve: Resolve
  private readonly clock: Clock
  private readonly known = new Map<string, Known>()

  constructor(allowPrivate: boolean, resolve: Resolve, clock: Clock) {
    this.allowPrivate = allowPrivate
    this.resolve = resolve
    this.clock = clock
  }

  /**
   * Whether a host, as the URL parser writes it, may be gone to; a promise where it has to be resolved first. A name that
   * does not resolve is not refused: a proxy behind us may know it, and where there is none the connection fails by itself.
   */
  allows(hostname: string): boolean | Promise<boolean> {
    if (this.allowPrivate) return true
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
    if (isIP(host) > 0) return !isPrivateAddress(host)
    if (isLocalName(host)) return false
    const known = this.lookUp(host)
    return known.open || known.addresses.then(isOpen, () => true)
  }

  /**
   * Resolves for a connection that is made from here. It fails where any address is private, so that a name cannot be turned
   * round between the check and the connection.
   */
  readonly lookup: LookupFunction = (hostname, options, hand) => {
    this.lookUp(hostname).addresses.then(
      (addresses) => {
        const first = addresses[0]
        if (first === undefined) hand(notFound(hostname), '', 0)
        else if (!this.allowPrivate && !isOpen(addresses))
          hand(new PrivateTargetError(`${hostname} is at a private address`), '', 0)
        else if (options.all === true) hand(null, [...addresses])
        else hand(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => hand(error, '', 0),
    )
  }

  private lookUp(name: string): Known {
    const { known, clock } = this
    const now = clock.now()
    const found = known.get(name)
    if (found !== undefined && found.until > now) return found
    // In order of their making: the oldest go first.
    known.delete(name)
    for (const [old, { until }] of known) {
      if (until > now && known.size < MOST) break
      known.delete(old)
    }
    const made: Known = { until: now + BELIEVED, addresses: this.resolve(name), open: false }
    known.set(name, made)
    made.addresses.then(
      (addresses) => {
        made.open = isOpen(addresses)
      },
      () => {
        if (known.get(name) === made) known.delete(name)
      },
    )
    return made
  }
}

const isOpen = (addresses: readonly ResolvedAddress[]): boolean =>
  !addresses.some(({ address }) => isPrivateAddress(address))

const notFound = (hostname: string): Error =>
  Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
