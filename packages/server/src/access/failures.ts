import type { Clock } from 'holdfast'

/** How many wrong tokens an address may show, in how long (ms), and how many addresses are remembered. */
const LIMIT = 10
const WINDOW = 60_000
const ADDRESSES = 10_000

interface Record {
  count: number
  until: number
}

/** Counts wrong tokens by address. Those that are right are never held up by the wrong ones of a neighbour. */
export class Failures {
  private readonly records = new Map<string, Record>()
  private readonly clock: Clock

  constructor(clock: Clock) {
    this.clock = clock
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
    return record.count > LIMIT ? record.until - now : 0
  }
}
