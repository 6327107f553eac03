import { type AsyncMethodDecorator, decorate } from './decorate.js'
import type { FallbackFunction, FallbackSettings } from './settings/fallback.js'

/**
 * Answers a call that failed, when all retries have ended: with another method of the object, given the same arguments,
 * or with a function, given the error. What either throws is thrown, with the error as its cause.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the settings
 *
 * @example
 * ```ts
 * import * as ft from 'holdfast/decorators'
 *
 * class Prices {
 *   @ft.Fallback({ fallbackMethod: 'last' })
 *   async now(item: string): Promise<string> {
 *     throw new Error(`no price for ${item}`)
 *   }
 *
 *   async last(item: string): Promise<string> {
 *     return `the old price of ${item}`
 *   }
 *
 *   @ft.Fallback((error, { args }) => [error instanceof Error, ...args])
 *   async all(shop: string): Promise<unknown[]> {
 *     throw new Error(`${shop} is closed`)
 *   }
 * }
 *
 * await new Prices().now('tea') // => 'the old price of tea'
 * await new Prices().all('north') // => [true, 'north']
 * ```
 */
export function Fallback(settings: FallbackFunction | FallbackSettings): AsyncMethodDecorator {
  return decorate('Fallback', typeof settings === 'function' ? { value: settings } : settings)
}
