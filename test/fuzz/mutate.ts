import type { Random } from './random.js'

/** The longest case. Longer ones cost time without another kind of input. */
const MAX_BYTES = 200_000

/** The bytes that parsers treat in a special way. */
const SPECIAL_BYTES = [0, 9, 10, 13, 32, 34, 44, 45, 48, 58, 59, 91, 123, 127, 128, 255]

/** Changes a case in one to four places: inserts, deletes, replaces, repeats and joins with another case. */
export function mutate(
  bytes: Buffer,
  others: readonly Buffer[],
  dictionary: readonly string[],
  random: Random,
): Buffer {
  let changed = bytes
  for (let left = 1 + random.below(4); left > 0; left--)
    changed = mutateOnce(changed, others, dictionary, random)
  return changed.subarray(0, MAX_BYTES)
}

function mutateOnce(
  bytes: Buffer,
  others: readonly Buffer[],
  dictionary: readonly string[],
  random: Random,
): Buffer {
  const at = random.below(bytes.length + 1)
  const replace = (inserted: Uint8Array, removed: number): Buffer =>
    Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)])
  const length = 1 + random.below(random.pick([2, 8, 64]))
  switch (random.below(9)) {
    case 0:
      return replace(Buffer.from([random.below(256)]), 1)
    case 1:
      return replace(Buffer.from([random.pick(SPECIAL_BYTES)]), random.below(2))
    case 2:
      return replace(Buffer.alloc(0), length)
    case 3:
    case 4:
      return dictionary.length === 0 ? bytes : replace(Buffer.from(random.pick(dictionary), 'latin1'), 0)
    case 5:
      return dictionary.length === 0 ? bytes : replace(Buffer.from(random.pick(dictionary), 'latin1'), length)
    case 6: {
      const from = random.below(bytes.length + 1)
      return replace(bytes.subarray(from, from + length), 0)
    }
    case 7: {
      const other = random.pick(others)
      return Buffer.concat([bytes.subarray(0, at), other.subarray(random.below(other.length + 1))])
    }
    default:
      return bytes.subarray(0, at)
  }
}
