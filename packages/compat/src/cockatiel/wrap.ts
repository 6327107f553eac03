import type { IDefaultPolicyContext, IMergedPolicy, IPolicy } from './types.js'

type AnyPolicy = IPolicy<IDefaultPolicyContext, unknown>

/* oxlint-disable typescript/no-explicit-any -- the declarations of cockatiel */
type MergePolicies<A, B> =
  A extends IPolicy<infer A1, any>
    ? B extends IPolicy<infer B1, any>
      ? IMergedPolicy<
          A1 & B1,
          A['_altReturn'] | B['_altReturn'],
          B extends IMergedPolicy<any, any, infer W> ? [A, ...W] : [A, B]
        >
      : never
    : never
/* oxlint-enable typescript/no-explicit-any */

/** Combines policies; the first is the outermost. The context of the function has the properties of all of them. */
export function wrap<A extends AnyPolicy>(p1: A): A
export function wrap<A extends AnyPolicy, B extends AnyPolicy>(p1: A, p2: B): MergePolicies<A, B>
export function wrap<A extends AnyPolicy, B extends AnyPolicy, C extends AnyPolicy>(
  p1: A,
  p2: B,
  p3: C,
): MergePolicies<C, MergePolicies<A, B>>
export function wrap<A extends AnyPolicy, B extends AnyPolicy, C extends AnyPolicy, D extends AnyPolicy>(
  p1: A,
  p2: B,
  p3: C,
  p4: D,
): MergePolicies<D, MergePolicies<C, MergePolicies<A, B>>>
export function wrap<
  A extends AnyPolicy,
  B extends AnyPolicy,
  C extends AnyPolicy,
  D extends AnyPolicy,
  E extends AnyPolicy,
>(
  p1: A,
  p2: B,
  p3: C,
  p4: D,
  p5: E,
): MergePolicies<E, MergePolicies<D, MergePolicies<C, MergePolicies<A, B>>>>
export function wrap<C extends IDefaultPolicyContext, A>(...p: Array<IPolicy<C, A>>): IPolicy<C, A>
export function wrap(...policies: AnyPolicy[]): unknown {
  const [outermost] = policies
  return {
    _altReturn: undefined,
    onFailure: outermost?.onFailure,
    onSuccess: outermost?.onSuccess,
    wrapped: policies,
    async execute(fn: (context: IDefaultPolicyContext) => unknown, signal?: AbortSignal) {
      const run = (context: IDefaultPolicyContext, index: number): unknown => {
        const policy = policies[index]
        return policy === undefined
          ? fn(context)
          : policy.execute((added) => run({ ...context, ...added }, index + 1), context.signal)
      }
      return run({ signal: signal as AbortSignal }, 0)
    },
  }
}
