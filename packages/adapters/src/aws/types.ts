/** How the SDK classifies an error. */
export type AwsErrorType = 'TRANSIENT' | 'THROTTLING' | 'SERVER_ERROR' | 'CLIENT_ERROR'

/** The error of an attempt, as the SDK passes it to a retry strategy. */
export interface AwsErrorInfo {
  /** The error of the attempt. */
  readonly error?: unknown
  /** The classification of the SDK. */
  readonly errorType: AwsErrorType
  /** When the service allows a retry. */
  readonly retryAfterHint?: Date | undefined
}

/** The token that allows one attempt. */
export interface AwsRetryToken {
  /** The number of retries so far, 0 for the first attempt. */
  getRetryCount(): number
  /** The milliseconds that the SDK waits before the attempt. The strategy has waited itself, so it is 0. */
  getRetryDelay(): number
  /** The delay that has already passed, in milliseconds. */
  readonly $retryLog?: { acquisitionDelay?: number }
}

/** A retry strategy of the SDK (`RetryStrategyV2`), for the option `retryStrategy` of a client. */
export interface AwsRetryStrategy {
  /** The name of the retry mode. */
  readonly mode: string
  /** Allows the first attempt. @throws CIRCUIT_OPEN while the breaker is open */
  acquireInitialRetryToken(retryTokenScope: string): Promise<AwsRetryToken>
  /** Waits for the next attempt and allows it, or rejects, after which the SDK throws the error of the attempt. */
  refreshRetryTokenForRetry(tokenToRenew: AwsRetryToken, errorInfo: AwsErrorInfo): Promise<AwsRetryToken>
  /** Records that the attempt of a token succeeded. */
  recordSuccess(token: AwsRetryToken): void
}

/** The names of the operation that a client calls. */
export interface AwsCallContext {
  /** The name of the client, such as `SQSClient`. */
  readonly clientName?: string | undefined
  /** The name of the command, such as `SendMessageCommand`. */
  readonly commandName?: string | undefined
}

/** The methods of the SDK's middleware stack that the plugin uses. */
export interface AwsMiddlewareStack {
  /** Adds a middleware, in place of one of the same name. */
  add(middleware: never, options: never): void
}

/** A plugin of the SDK, for `client.middlewareStack.use`. */
export interface AwsPlugin {
  /** Adds the middleware to the stack of a client. */
  applyToStack(stack: AwsMiddlewareStack): void
}
