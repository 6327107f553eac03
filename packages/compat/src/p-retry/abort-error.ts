import { isInstanceOfAnyCopy } from 'holdfast/internal'

/** Ends the retries when the function throws it. The call rejects with {@link originalError}. */
export class AbortError extends Error {
  /** Makes `instanceof` true for errors of another copy of the package, such as its CommonJS form. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'abortErrorVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get abortErrorVersion(): number {
    return 1
  }

  override readonly name: 'AbortError'
  readonly originalError: Error

  /** @param message - an error, or the message of one */
  constructor(message: string | Error) {
    super()
    if (message instanceof Error) {
      this.originalError = message
    } else {
      this.originalError = new Error(message)
      if (this.stack !== undefined) this.originalError.stack = this.stack
    }
    this.name = 'AbortError'
    this.message = this.originalError.message
  }
}
