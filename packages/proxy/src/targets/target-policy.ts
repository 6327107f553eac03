import { lookup as lookupDns } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { Clock } from 'holdfast'
import { isInstanceOfAnyCopy, systemClock } from 'holdfast/internal'
import { isLocalName, isPrivateAddress } from './address.js'

/** An address of a resolver. */
export interface ResolvedAddress {
  /** The IP address. */
  readonly address: string
  /** 4 or 6. */
  readonly family: number
}

/** Resolves a name to all its addresses. */
export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>

/** How long results of the resolver are cached, and for how many names. */
const DNS_CACHE_MS = 10_000
const MAX_CACHED_NAMES = 10_000

/** The resolver of the operating system. */
export const resolveBySystem: Resolve = (name) =>
  new Promise((resolve, reject) =>
    lookupDns(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  )

/** The target is private and not allowed. It is a TypeError, so that it is classified as a programming error and not retried. */
export class PrivateTargetError extends TypeError {
  /** Makes `instanceof` true for errors of another copy of the package, such as its CommonJS form. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'privateTargetErrorVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get privateTargetErrorVersion(): number {
    return 1
  }
}

interface CachedLookup {
  readonly expiresAt: number
  readonly addresses: Promise<readonly ResolvedAddress[]>
  /** Set when all addresses of the name are known to be public. */
  isAllowed: boolean
}

/** The options of a {@link TargetPolicy}. */
export interface TargetPolicyOptions {
  /** Whether private, loopback, link-local and metadata targets are allowed. @defaultValue false */
  allowPrivate?: boolean
  /** Resolves a name to all its addresses. @defaultValue the resolver of the operating system */
  resolve?: Resolve
  /** The source of time. @defaultValue the system clock */
  clock?: Clock
}

/**
 * The spellings of a host that are checked: the given one, and the one without final dots. An upstream proxy can drop the
 * dots, and the local resolver may know only one of the two.
 */
function hostSpellings(host: string): readonly string[] {
  if (!host.endsWith('.')) return [host]
  const bare = host.replace(/\.+$/, '')
  if (bare === '') return [host]
  // Without its dots the name can be an address in any notation.
  const url = `http://${bare}`
  return [host, URL.canParse(url) ? new URL(url).hostname : bare]
}

/**
 * Decides which targets are allowed: those with public addresses, unless private ones are allowed too. Names are resolved, and
 * results are cached for ten seconds.
 *
 * @example
 * ```ts
 * import { TargetPolicy } from '@holdfast/proxy'
 *
 * const policy = new TargetPolicy({ resolve: async () => [{ address: '10.0.0.1', family: 4 }] })
 * policy.allows('127.0.0.1') // => false
 * policy.allows('8.8.8.8') // => true
 * await policy.allows('intranet.example.') // => false
 * ```
 */
export class TargetPolicy {
  /** Makes `instanceof` true for policies of another copy of the package, such as its CommonJS form. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'targetPolicyVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get targetPolicyVersion(): number {
    return 1
  }

  private readonly allowPrivate: boolean
  private readonly resolve: Resolve
  private readonly clock: Clock
  private readonly cache = new Map<string, CachedLookup>()

  constructor({
    allowPrivate = false,
    resolve = resolveBySystem,
    clock = systemClock,
  }: TargetPolicyOptions = {}) {
    this.allowPrivate = allowPrivate
    this.resolve = resolve
    this.clock = clock
  }

  /**
   * Whether a host, as normalized by the URL parser, is allowed; a promise if it has to be resolved first. A name that
   * does not resolve is allowed: an upstream proxy may know it, and without one the connection fails.
   */
  allows(hostname: string): boolean | Promise<boolean> {
    if (this.allowPrivate) return true
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
    const spellings = hostSpellings(host)
    const address = spellings.find((one) => isIP(one) > 0)
    if (address !== undefined) return !isPrivateAddress(address)
    if (spellings.some(isLocalName)) return false
    const known = spellings.map((name) => this.cachedLookup(name))
    if (known.every(({ isAllowed }) => isAllowed)) return true
    return Promise.all(known.map(({ addresses }) => addresses.then(areAllPublic, () => true))).then((all) =>
      all.every(Boolean),
    )
  }

  /**
   * Resolves the name of a direct connection. It fails if any address is private, so that the result of DNS cannot change
   * between the check and the connection.
   */
  readonly lookup: LookupFunction = (hostname, options, onResolved) => {
    this.cachedLookup(hostname).addresses.then(
      (addresses) => {
        const first = addresses[0]
        if (first === undefined) onResolved(createNotFoundError(hostname), '', 0)
        else if (!this.allowPrivate && !areAllPublic(addresses))
          onResolved(new PrivateTargetError(`${hostname} has a private address`), '', 0)
        else if (options.all === true) onResolved(null, [...addresses])
        else onResolved(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => onResolved(error, '', 0),
    )
  }

  private cachedLookup(name: string): CachedLookup {
    const { cache, clock } = this
    const now = clock.now()
    const found = cache.get(name)
    if (found !== undefined && found.expiresAt > now) return found
    // The map is ordered by age: the oldest entries are removed first.
    cache.delete(name)
    for (const [old, { expiresAt }] of cache) {
      if (expiresAt > now && cache.size < MAX_CACHED_NAMES) break
      cache.delete(old)
    }
    const created: CachedLookup = {
      expiresAt: now + DNS_CACHE_MS,
      addresses: this.resolve(name),
      isAllowed: false,
    }
    cache.set(name, created)
    created.addresses.then(
      (addresses) => {
        created.isAllowed = areAllPublic(addresses)
      },
      () => {
        if (cache.get(name) === created) cache.delete(name)
      },
    )
    return created
  }
}

const areAllPublic = (addresses: readonly ResolvedAddress[]): boolean =>
  !addresses.some(({ address }) => isPrivateAddress(address))

const createNotFoundError = (hostname: string): Error =>
  Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
