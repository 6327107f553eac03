/** The methods of axios's headers that the adapter uses. */
export interface AxiosHeaders {
  has(name: string): boolean
  set(name: string, value: string): unknown
  /** Returns a copy. */
  concat(): AxiosHeaders
}

/** The fields of a request config that the adapter uses. */
export interface AxiosConfig {
  method?: string | undefined
  headers: AxiosHeaders
  data?: unknown
  signal?: unknown
  cancelToken?: unknown
}

/** The fields of a response that the adapter uses. */
export interface AxiosReply {
  config: unknown
  data: unknown
}

/** The functions of the axios package that the adapter uses: pass the default export of `axios`. */
export interface AxiosLibrary<C, R> {
  readonly defaults: { readonly adapter?: unknown }
  getAdapter(adapters: never, config?: never): (config: C) => Promise<R>
  getUri(config?: never): string
}
