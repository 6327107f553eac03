type NumericArray = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array

/** A table with one row per slot of a pool. `grow` is called before a slot beyond its capacity is used. */
export interface SlotIndexed {
  grow(capacity: number): void
}

/** Copies an array into a larger one of `capacity` numbers; the new ones are `empty`. */
export function growArray<C extends NumericArray>(array: C, capacity: number, empty = 0): C {
  const larger = new (array.constructor as new (length: number) => C)(capacity)
  if (empty !== 0) larger.fill(empty)
  larger.set(array)
  return larger
}
