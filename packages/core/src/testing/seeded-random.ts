import type { Random } from '../clock.js'

/**
 * Creates a {@link Random} that returns the same numbers for the same seed on every machine.
 *
 * @example
 * ```ts
 * import { seededRandom } from 'holdfast/testing'
 *
 * const a = seededRandom(7)
 * const b = seededRandom(7)
 * a() === b() // => true
 * ```
 */
export function seededRandom(seed: number): Random {
  let state = seed | 0
  // mulberry32 is small, fast and sufficient for tests.

  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
