import type { CallOptions } from '@holdfast/runtime'
import { Inject } from '@nestjs/common'
import { HoldfastError } from 'holdfast'
import type { AsyncMethod } from 'holdfast/decorators'
import { callInAttempt, copyMetadata } from 'holdfast/internal'
import type { GuardRegistry } from './guard-registry.js'
import { GUARD_REGISTRY } from './tokens.js'

/** The property in which Nest injects the registry into objects with resilient methods. */
const REGISTRY = Symbol.for('holdfast.nestjs.guards')

interface WithRegistry {
  [REGISTRY]?: GuardRegistry
}

/** The prototypes whose objects get the registry. */
const injected = new WeakSet<object>()

/** Options of the calls of a resilient method, or a function that returns them for the arguments of a call. */
export type ResilientOptions<A extends unknown[] = unknown[]> = CallOptions | ((...args: A) => CallOptions)

/** `unknown` if a function with the parameters `A` can be called with the arguments of the method, else `never`. */
type IfCallable<A extends unknown[], F extends AsyncMethod> = [(...args: A) => unknown] extends [
  (...args: Parameters<F>) => unknown,
]
  ? unknown
  : never

/** A decorator of asynchronous methods of providers and controllers; the method keeps its type. */
export type ResilientDecorator<A extends unknown[] = unknown[]> = <F extends AsyncMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<F> & IfCallable<A, F>,
) => TypedPropertyDescriptor<F>

const invalid = (message: string): HoldfastError => new HoldfastError('INVALID_OPTIONS', message)

/**
 * Runs each call of an asynchronous method under a guard of `HoldfastModule`, else as an operation of its runtime. It works on
 * methods of all providers and controllers, above and below decorators such as `@Get()`, because it keeps their metadata. Guards,
 * interceptors and pipes of Nest run once, before the first attempt. `currentAttempt()` of `holdfast/decorators` returns the
 * attempt.
 *
 * @throws INVALID_OPTIONS when the class is defined, for anything but a method of an object
 *
 * @example
 * ```ts
 * import { HoldfastModule, Resilient } from '@holdfast/nestjs'
 * import { Injectable } from '@nestjs/common'
 * import { Test } from '@nestjs/testing'
 * import { currentAttempt } from 'holdfast/decorators'
 *
 * @Injectable()
 * class Mail {
 *   @Resilient('mail.send', (to: string) => ({ itemId: to, retry: { backoffType: 'immediate' } }))
 *   async send(to: string): Promise<string> {
 *     const attempt = currentAttempt()
 *     if (attempt?.number !== 2) throw new Error('connection lost')
 *     return `sent to ${to}`
 *   }
 * }
 *
 * const app = await Test.createTestingModule({
 *   imports: [HoldfastModule.forRoot({ open: { config: {} } })],
 *   providers: [Mail],
 * }).compile()
 * await app.get(Mail).send('ada@example.com') // => 'sent to ada@example.com'
 * await app.close()
 * ```
 */
export function Resilient<A extends unknown[] = unknown[]>(
  name: string,
  options?: ResilientOptions<A>,
): ResilientDecorator<A> {
  return (target, key, descriptor) => {
    const method: unknown = descriptor?.value
    if (typeof target === 'function' || typeof method !== 'function')
      throw invalid(
        `@Resilient(${JSON.stringify(name)}) of ${String(key)}: expected a method that is not static`,
      )
    if (!injected.has(target)) {
      injected.add(target)
      Inject(GUARD_REGISTRY)(target, REGISTRY)
    }
    const wrapper = async function (this: WithRegistry | undefined, ...args: unknown[]): Promise<unknown> {
      const registry = this?.[REGISTRY]
      if (registry === undefined)
        throw invalid(
          `${target.constructor.name}.${String(key)}: the object was not created by Nest, or the method was called without it`,
        )
      const callOptions = typeof options === 'function' ? options(...(args as A)) : options
      return registry.run(name, (attempt) => callInAttempt(attempt, method as never, this, args), callOptions)
    }
    copyMetadata(method, wrapper)
    return { ...descriptor, value: wrapper } as never
  }
}
