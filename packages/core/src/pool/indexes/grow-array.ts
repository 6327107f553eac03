type NumericArray = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array

/** Something with a place for each slot of a pool, which is told when there are to be more. */
export interface SlotIndexed {
  grow(capacity: number): void
}

/** A copy of a column with room for `capacity` numbers; the new ones are `empty`. */
export function growArray<C extends NumericArray>(array: C, capacity: number, empty = 0): C {
  const larger = new (array.constructor as new (length: number) => C)(capacity)
  if (empty !== 0) larger.fill(empty)
  larger.set(array)
  return larger
}
