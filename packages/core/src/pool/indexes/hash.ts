/** Mixes the bits of a 32-bit integer so that each input bit affects all output bits (the finalizer of MurmurHash3). */
export function mixBits(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The n-th of a sequence of evenly distributed 32-bit hashes of a seed; `n` begins at 0. */
export const nthHash = (seed: number, n: number): number => mixBits(seed + n * 0x9e3779b9)

/** A 32-bit hash of a string, the same on every machine (FNV-1a over its UTF-16 units, then mixed). */
export function hashString(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixBits(hash)
}
