import { type AsyncMethod, decorate } from './decorate.js'
import type { FallbackFunction, FallbackSettings } from './settings/fallback.js'

/** Anything; written so that a literal keeps its type. */
type FallbackResult = string | number | bigint | boolean | symbol | object | null | undefined | void

/** Nothing for a method whose promise may be one of what the fallback gives. */
type IfAnswers<F extends AsyncMethod, R> = Awaited<R> extends Awaited<ReturnType<F>> ? unknown : never

/** A decorator of asynchronous methods that return what the fallback gives, `R`, or more. */
export interface FallbackDecorator<R> {
  /** As a standard decorator. */
  <This, F extends AsyncMethod>(method: F & IfAnswers<F, R>, context: ClassMethodDecoratorContext<This, F>): F
  /** As TypeScript's `experimentalDecorators` call it. */
  <F extends AsyncMethod>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F> & IfAnswers<F, R>,
  ): TypedPropertyDescriptor<F>
}

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
export function Fallback<R extends FallbackResult = never>(
  settings: FallbackFunction<R> | FallbackSettings<R>,
): FallbackDecorator<R> {
  return decorate('Fallback', typeof settings === 'function' ? { value: settings } : settings)
}
