/** A generator of pseudo-random numbers (mulberry32). Equal seeds give equal sequences. */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed | 0
  }

  /** A whole number from 0 to 2^32 - 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    return this.next() % limit
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
}

/** A number that depends on all bytes, so that a case decides for itself how it is delivered. */
export function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/** Splits bytes at positions that depend only on them. */
export function splitByHash(bytes: Buffer, maxPieces = 6): Buffer[] {
  const random = new Random(hashOf(bytes))
  const cuts = Array.from({ length: random.below(maxPieces) }, () => random.below(bytes.length + 1))
  const positions = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
  return positions
    .slice(1)
    .map((end, i) => bytes.subarray(positions[i], end))
    .filter((piece) => piece.length > 0)
}
