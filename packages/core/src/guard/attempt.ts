/** What the guarded function is told about the attempt it is. */
export interface Attempt {
  /** 1 for the first. */
  readonly number: number
  /** Aborted when a deadline passes or the caller aborts. Made when it is first read. */
  readonly signal: AbortSignal
  /** Adds facts to the attempt's record. Later facts win over earlier ones of the same name. */
  note(context: object): void
}

/** An attempt in flight. */
export class Flight implements Attempt {
  readonly number: number
  /** @internal */
  context: object | undefined = undefined
  private controller: AbortController | undefined = undefined

  constructor(number: number) {
    this.number = number
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    return this.controller.signal
  }

  note(context: object): void {
    this.context = { ...this.context, ...context }
  }

  /** @internal Tells the function that nobody waits for it any more. */
  abort(reason: unknown): void {
    this.controller ??= new AbortController()
    this.controller.abort(reason)
  }
}
