import { type AsyncMethod, decorate } from './decorate.js'
import type { FallbackFunction, FallbackSettings } from './settings/fallback.js'

/** Any value, as a union, so that a literal keeps its type. */
type FallbackResult = string | number | bigint | boolean | symbol | object | null | undefined | void

/** `unknown` if the result `R` of the fallback is assignable to that of the method, otherwise `never`. */
type IfAssignable<F extends AsyncMethod, R> = Awaited<R> extends Awaited<ReturnType<F>> ? unknown : never

/**
 * `never` if the result of the fallback method `K` of `T` is not assignable to that of the method, otherwise `unknown`. A
 * private method is not a key of its class and cannot be checked.
 */
type IfMethodAssignable<T, K, F extends AsyncMethod> = K extends keyof T
  ? T[K] extends (...args: never[]) => infer R
    ? IfAssignable<F, R>
    : unknown
  : unknown

/** A decorator of asynchronous methods to whose result that of the fallback is assignable: `R` of a function, or that of the method `K`. */
export interface FallbackDecorator<R, K extends string | symbol = never> {
  /** As a standard decorator. */
  <This, F extends AsyncMethod>(
    method: F & IfAssignable<F, R> & ([K] extends [never] ? unknown : IfMethodAssignable<This, K, F>),
    context: ClassMethodDecoratorContext<This, F>,
  ): F
  /** As TypeScript's `experimentalDecorators` call it. */
  <T extends object, F extends AsyncMethod>(
    target: T,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F> &
      IfAssignable<F, R> &
      ([K] extends [never] ? unknown : IfMethodAssignable<T, K, F>),
  ): TypedPropertyDescriptor<F>
}

/**
 * Returns a value in place of the error when a call failed after all retries: from another method of the object, called with
 * the same arguments, or from a function, called with the error. An error that either throws is thrown, with the original
 * error as its cause.
 *
 * @throws INVALID_OPTIONS that lists all problems of the settings
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
export function Fallback<R extends FallbackResult = never, const K extends string | symbol = never>(
  settings: FallbackFunction<R> | (FallbackSettings<R> & { fallbackMethod?: K | undefined }),
): FallbackDecorator<R, K> {
  return decorate('Fallback', typeof settings === 'function' ? { value: settings } : settings)
}
