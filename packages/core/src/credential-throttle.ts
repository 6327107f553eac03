import type { Clock } from './clock.js'

/** How many wrong credentials one address can send within the window. */
const MAX_FAILURES = 10
const WINDOW_MS = 60_000
/** How many addresses, and how many clients, are kept in memory. */
const MAX_ENTRIES = 10_000

interface FailureCount {
  count: number
  readonly until: number
}

/** Removes the oldest entry of a map or set that has grown too large. */
function limitSize(entries: Map<string, unknown> | Set<string>): void {
  if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value as string)
}

/**
 * Limits how fast tokens and passwords can be guessed from one address. After too many wrong ones the address is rejected for
 * a while, also with right credentials, so that further guesses reveal nothing. A client that was admitted from the address
 * before is not locked out by the failures of others, only by failures under its own name.
 */
export class CredentialThrottle {
  private readonly failures = new Map<string, FailureCount>()
  /** The address and name of each client that was admitted, the most recent last. */
  private readonly knownClients = new Set<string>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Records right credentials. Returns 0 where the client is admitted, else the milliseconds that it has to wait. */
  recordSuccess(address: string, name: string): number {
    const client = `${address} ${name}`
    const wait = this.knownClients.has(client) ? this.retryAfter(client) : this.retryAfter(address)
    if (wait > 0) return wait
    this.knownClients.delete(client)
    this.knownClients.add(client)
    limitSize(this.knownClients)
    return 0
  }

  /** Records wrong credentials, with the name of the user where it is known. Returns the milliseconds to wait, 0 for none. */
  recordFailure(address: string, name?: string): number {
    if (name !== undefined) this.count(`${address} ${name}`)
    this.count(address)
    return this.retryAfter(address)
  }

  private count(key: string): void {
    const now = this.clock.now()
    const found = this.failures.get(key)
    const entry = found === undefined || found.until <= now ? { count: 0, until: now + WINDOW_MS } : found
    entry.count++
    // Inserted again, so that the first entry is always the one that failed least recently.
    this.failures.delete(key)
    this.failures.set(key, entry)
    limitSize(this.failures)
  }

  private retryAfter(key: string): number {
    const entry = this.failures.get(key)
    return entry === undefined || entry.count <= MAX_FAILURES
      ? 0
      : Math.max(0, entry.until - this.clock.now())
  }
}
