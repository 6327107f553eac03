/** A promise of the runtime that was not kept. */
export class Violation extends Error {
  /** The name of the invariant. */
  readonly invariant: string

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`)
    this.name = 'Violation'
    this.invariant = invariant
  }
}
