/** An error of the server, in the form of the driver: SQLSTATE and message. */
export class PostgresError extends Error {
  readonly severity = 'ERROR'
  readonly code: string

  constructor([code, message]: readonly [string, string]) {
    super(message)
    this.name = 'error'
    this.code = code
  }
}
