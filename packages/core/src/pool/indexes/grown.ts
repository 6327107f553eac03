type Column = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array

/** Something with a place for each slot of a pool, which is told when there are to be more. */
export interface Growing {
  grow(capacity: number): void
}

/** A copy of a column with room for `capacity` numbers; the new ones are `empty`. */
export function grown<C extends Column>(column: C, capacity: number, empty = 0): C {
  const wider = new (column.constructor as new (length: number) => C)(capacity)
  if (empty !== 0) wider.fill(empty)
  wider.set(column)
  return wider
}
