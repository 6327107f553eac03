import type { Clock } from 'holdfast'

/** How many wrong tokens an address may show, in how long (ms), and how many addresses are remembered. */
const LIMIT = 10
const WINDOW = 60_000
const ADDRESSES = 10_000

interface Record {
  count: number
  until: number
}

/**
 * Counts wrong tokens by address. One that showed too many is to keep quiet, with whatever it shows, so that it learns nothing
 * by going on. Who came in from there before goes in and out: nobody is locked out by the wrong tokens of a neighbour.
 */
export class Failures {
  private readonly records = new Map<string, Record>()
  /** Who came in from where: those heard of last. */
  private readonly guests = new Set<string>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Notes a right token. Tells for how long (ms) the address is to keep quiet for all that, 0 where its owner may come in. */
  admit(address: string, name: string): number {
    const guest = `${address} ${name}`
    const wait = this.guests.has(guest) ? 0 : this.quiet(address)
    if (wait === 0) {
      this.guests.delete(guest)
      this.guests.add(guest)
      if (this.guests.size > ADDRESSES) this.guests.delete(this.guests.keys().next().value as string)
    }
    return wait
  }

  /** Notes a wrong token. Tells for how long (ms) the address is to keep quiet, 0 while it may go on. */
  note(address: string): number {
    const now = this.clock.now()
    let record = this.records.get(address)
    if (record === undefined || record.until <= now) record = { count: 0, until: now + WINDOW }
    // Put at the end, so that the first is the one unheard of for longest.
    this.records.delete(address)
    this.records.set(address, record)
    if (this.records.size > ADDRESSES) this.records.delete(this.records.keys().next().value as string)
    record.count++
    return this.quiet(address)
  }

  private quiet(address: string): number {
    const record = this.records.get(address)
    return record === undefined || record.count <= LIMIT ? 0 : Math.max(0, record.until - this.clock.now())
  }
}
