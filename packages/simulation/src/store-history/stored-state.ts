import { isDeepStrictEqual } from 'node:util'

/**
 * A value in a store, as far as a client knows it. After a change that failed or whose process died, the store has the old or the new
 * value, and after a power failure one of those that were not flushed.
 */
export class StoredState<T> {
  private possible: readonly T[]
  private afterPowerFailure: readonly T[]
  /** Whether nothing was changed since a power failure, so that every value is on the device. */
  private isOnDevice = false

  constructor(initial: T) {
    this.possible = [initial]
    this.afterPowerFailure = [initial]
  }

  get isCertain(): boolean {
    return this.possible.length === 1
  }

  /** The value, if it is certain. */
  get value(): T {
    return this.possible[0] as T
  }

  get values(): readonly T[] {
    return this.possible
  }

  /** The store has acknowledged a change. */
  acknowledge(next: T): void {
    this.possible = [next]
    this.afterPowerFailure = [next]
    this.isOnDevice = false
  }

  /** The store has confirmed that the value is as it is. */
  confirm(): void {
    this.afterPowerFailure = this.possible
  }

  /** A change to one of these values was not acknowledged. */
  attempt(...next: readonly T[]): void {
    this.possible = union(this.possible, next)
    this.afterPowerFailure = union(this.afterPowerFailure, next)
    this.isOnDevice = false
  }

  losePower(): void {
    this.possible = this.afterPowerFailure
    this.isOnDevice = true
  }

  /** The value was read. Returns whether the store can have it. */
  observe(matches: (value: T) => boolean): boolean {
    const found = this.possible.filter(matches)
    if (found.length === 0) return false
    this.possible = found
    if (this.isOnDevice) this.afterPowerFailure = found
    return true
  }
}

const union = <T>(known: readonly T[], added: readonly T[]): T[] => {
  const values = [...known]
  for (const value of added) if (!values.some((other) => isDeepStrictEqual(other, value))) values.push(value)
  return values
}
