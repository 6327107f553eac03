/** Stirs all bits of a whole number of 32 bits into all others (the finish of MurmurHash3). */
export function mixBits(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The numbers of 32 bits, as even as by chance, that follow from one of them: the first is number 0. */
export const nthHash = (seed: number, number: number): number => mixBits(seed + number * 0x9e3779b9)

/** A number of 32 bits for a text, the same on every machine (FNV-1a over its UTF-16 units, stirred). */
export function hashString(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixBits(hash)
}
