/** The place of the lowest bit that is set in a word. */
const lowestBit = (word: number): number => 31 - Math.clz32(word & -word)

/**
 * A set of small whole numbers that finds the next of them after any number in a few steps: bits in words of 32, a bit
 * for each word that has some, and so on up to a single word.
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

  /** The first number from `from` on that is in the set, or -1. */
  next(from: number): number {
    const { levels } = this
    let at = from
    for (let level = 0; level < levels.length; level++) {
      const words = levels[level] as Uint32Array
      const wordIndex = at >>> 5
      if (wordIndex >= words.length) return -1
      // A shift takes its count modulo 32, which is what is needed here.
      const rest = (words[wordIndex] as number) & (-1 << at)
      if (rest !== 0) {
        at = wordIndex * 32 + lowestBit(rest)
        while (level-- > 0) at = at * 32 + lowestBit((levels[level] as Uint32Array)[at] as number)
        return at
      }
      at = wordIndex + 1
    }
    return -1
  }

  /** Makes room for numbers below `capacity`, a multiple of 32. */
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
