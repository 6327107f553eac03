/** The methods of the metadata of grpc-js that the interceptor uses. */
export interface GrpcMetadata {
  get(key: string): readonly unknown[]
  set(key: string, value: string): void
  clone(): GrpcMetadata
}

/** The final status of a call. */
export interface GrpcStatus {
  code: number
  details: string
  metadata: GrpcMetadata
}

/** Receives the parts of a response. */
export interface GrpcListener {
  onReceiveMetadata(metadata: GrpcMetadata): void
  onReceiveMessage(message: unknown): void
  onReceiveStatus(status: GrpcStatus): void
}

/** A call below the interceptor. */
export interface GrpcCall {
  start(metadata: GrpcMetadata, listener: GrpcListener): void
  sendMessageWithContext(context: object, message: unknown): void
  sendMessage(message: unknown): void
  halfClose(): void
  startRead(): void
  cancelWithStatus(code: number, details: string): void
  getPeer(): string
  getAuthContext(): unknown
}

/** The options of a call that the interceptor uses. */
export interface GrpcCallOptions {
  /** When the call must have ended. */
  deadline?: Date | number | undefined
  /** The path of the method, and whether it has streams. */
  method_definition: { path: string; requestStream: boolean; responseStream: boolean }
}

/** The classes of the package that the interceptor uses: pass the module `@grpc/grpc-js`. `C` is the class of calls. */
export interface GrpcLibrary<C> {
  /** The class of calls that an interceptor returns. */
  readonly InterceptingCall: new (
    nextCall: never,
  ) => C
  /** The class of metadata. */
  readonly Metadata: new () => object
}
