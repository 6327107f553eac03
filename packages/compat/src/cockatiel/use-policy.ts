import type { IDefaultPolicyContext, IPolicy } from './types.js'

/**
 * A decorator of a method (`experimentalDecorators`) that executes it with the policy. The method gets the context as its
 * last argument. A signal that the caller passes as its last argument is that of the call.
 */
export const usePolicy =
  (policy: IPolicy<IDefaultPolicyContext, never>) =>
  (_target: unknown, _key: string, descriptor: PropertyDescriptor): void => {
    const method: unknown = descriptor.value
    if (typeof method !== 'function')
      throw new Error(`Can only decorate functions with @cockatiel, got ${typeof method}`)
    descriptor.value = function (this: unknown, ...args: unknown[]) {
      const signal = args.at(-1) instanceof AbortSignal ? (args.pop() as AbortSignal) : undefined
      return policy.execute((context) => method.apply(this, [...args, context]), signal)
    }
  }
