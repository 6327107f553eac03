/** The methods of axios's headers that the adapter uses. */
export interface AxiosHeaders {
  /** Whether there is a header of this name. */
  has(name: string): boolean
  /** Sets a header. */
  set(name: string, value: string): unknown
  /** Returns a copy. */
  concat(): AxiosHeaders
}

/** The fields of a request config that the adapter uses. */
export interface AxiosConfig {
  /** The method, in any case. */
  method?: string | undefined
  /** The headers of the request. */
  headers: AxiosHeaders
  /** The body. */
  data?: unknown
  /** The caller's signal. */
  signal?: unknown
  /** The caller's cancel token, which axios has deprecated. */
  cancelToken?: unknown
}

/** The fields of a response that the adapter uses. */
export interface AxiosReply {
  /** The config of the request. */
  config: unknown
  /** The body. */
  data: unknown
}

/** The functions of the axios package that the adapter uses: pass the default export of `axios`. */
export interface AxiosLibrary<C, R> {
  /** The default config, with the default adapter. */
  readonly defaults: { readonly adapter?: unknown }
  /** Returns the adapter function for names or functions. */
  getAdapter(adapters: never, config?: never): (config: C) => Promise<R>
  /** Returns the URL of a request. */
  getUri(config?: never): string
}
