/** Ends the retries when the function throws it. The call rejects with {@link originalError}. */
export class AbortError extends Error {
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
