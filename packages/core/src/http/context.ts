import { type FetchInput, urlOf } from './target.js'

/**
 * What events, the fallback, a breaker's `key` and a pool's strategy are told of a request, besides what `init.context`
 * adds. The path and the query are left out: they may hold secrets.
 */
export class FetchContext {
  /** The method, in capitals. */
  readonly method: string
  /** A pool's `sticky` sends requests of one session to one member. */
  declare readonly session?: string
  /** Where a pool's `region` prefers members to be. */
  declare readonly region?: string
  readonly #input: FetchInput

  constructor(method: string, input: FetchInput) {
    this.method = method
    this.#input = input
  }

  /** Where the request goes, `'https://api.example'`; empty where that cannot be read. */
  get origin(): string {
    return urlOf(this.#input)?.origin ?? ''
  }
}
