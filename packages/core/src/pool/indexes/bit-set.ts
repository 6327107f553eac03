/** The position of the lowest set bit of a 32-bit word. */
const lowestBit = (word: number): number => 31 - Math.clz32(word & -word)

/**
 * A set of small integers that finds the next element after any number in logarithmic time: the lowest level has one bit for
 * each element, and each higher level one bit for each non-zero word of the level below.
 */
export class BitSet {
  private levels: Uint32Array[] = [new Uint32Array(1)]

  set(index: number): void {
    let at = index
    for (const words of this.levels) {
      const before = words[at >>> 5] as number
      words[at >>> 5] = before | (1 << (at & 31))
      if (before !== 0) return
      at >>>= 5
    }
  }

  clear(index: number): void {
    let at = index
    for (const words of this.levels) {
      const after = (words[at >>> 5] as number) & ~(1 << (at & 31))
      words[at >>> 5] = after
      if (after !== 0) return
      at >>>= 5
    }
  }

  /** The first element that is at least `from`, or -1. */
  next(from: number): number {
    const { levels } = this
    let at = from
    for (let level = 0; level < levels.length; level++) {
      const words = levels[level] as Uint32Array
      const wordIndex = at >>> 5
      if (wordIndex >= words.length) return -1
      // A shift uses its count modulo 32, so that the mask selects the bits from `at` on within the word.
      const remainingBits = (words[wordIndex] as number) & (-1 << at)
      if (remainingBits !== 0) {
        at = wordIndex * 32 + lowestBit(remainingBits)
        while (level-- > 0) at = at * 32 + lowestBit((levels[level] as Uint32Array)[at] as number)
        return at
      }
      at = wordIndex + 1
    }
    return -1
  }

  /** Makes room for integers below `capacity`, which is a multiple of 32. */
  grow(capacity: number): void {
    const old = this.levels[0] as Uint32Array
    const first = new Uint32Array(Math.ceil(capacity / 32))
    first.set(old)
    this.levels = [first]
    for (let below = first; below.length > 1; ) {
      const words = new Uint32Array(Math.ceil(below.length / 32))
      for (let i = 0; i < below.length; i++) if (below[i] !== 0) (words[i >>> 5] as number) |= 1 << (i & 31)
      this.levels.push(words)
      below = words
    }
  }
}
