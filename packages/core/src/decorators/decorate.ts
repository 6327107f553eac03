import { optionProblem, throwIfInvalid } from '../options.js'
import { MethodDecoration } from './method-decoration.js'
import type { MethodLocation } from './method-location.js'
import { type DecoratorName, type DecoratorSettings, settingProblems } from './settings/table.js'

/** A method that the decorators accept: it returns a promise. */
// oxlint-disable-next-line typescript/no-explicit-any -- any class and any arguments
export type AsyncMethod = (this: any, ...args: any[]) => Promise<unknown>

/** A decorator of asynchronous methods, standard or `experimentalDecorators`; the method keeps its type. */
export interface AsyncMethodDecorator {
  /** As a standard decorator. */
  <This, F extends AsyncMethod>(method: F, context: ClassMethodDecoratorContext<This, F>): F
  /** As TypeScript's `experimentalDecorators` call it. */
  <F extends AsyncMethod>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): TypedPropertyDescriptor<F>
}

type StandardDecoratorContext = {
  readonly kind: string
  readonly name: string | symbol
  readonly static: boolean
  readonly metadata?: object
  addInitializer?(initialize: (this: object) => void): void
}

/** Creates a decorator that adds its settings to those of the method's other decorators, in any order. */
export function decorate<K extends DecoratorName>(
  kind: K,
  input: DecoratorSettings[K],
): AsyncMethodDecorator {
  throwIfInvalid(`@${kind}`, settingProblems(kind, input))
  const settings = Object.freeze({ ...input })

  const wrap = (method: unknown, location: MethodLocation) => {
    if (typeof method !== 'function')
      throwIfInvalid(`@${kind}`, [
        optionProblem(String(location.key), 'a method that returns a promise', method),
      ])
    const decoration = MethodDecoration.forMethod(method as never, location)
    return { decoration, wrapper: decoration.addDecorator(kind, settings) }
  }

  const decorator = (
    first: unknown,
    second: StandardDecoratorContext | string | symbol,
    third?: PropertyDescriptor,
  ): unknown => {
    if (typeof second === 'object') {
      const { kind: elementKind, name: key, static: isStatic, metadata } = second
      const decorated = elementKind === 'method' ? first : elementKind
      const { decoration, wrapper } = wrap(decorated, { key, isStatic, metadata })
      if (kind === 'Fallback')
        second.addInitializer?.(function () {
          decoration.checkFallback(this)
        })
      return wrapper
    }
    const target = first as object
    const { wrapper } = wrap(third?.value, { key: second, isStatic: typeof target === 'function', target })
    return { ...third, value: wrapper }
  }
  return decorator as AsyncMethodDecorator
}
