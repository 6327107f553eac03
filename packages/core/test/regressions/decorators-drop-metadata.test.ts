// A route of NestJS disappeared when @Retry() was above @Get(), because the metadata of @Get() was lost.
import 'reflect-metadata'
import { describe, expect, it } from 'vitest'
import * as ft from '../../src/decorators/index.js'

type LegacyDecorator = (target: object, key: string, descriptor: PropertyDescriptor) => unknown

const CODE = Symbol('code')

/** Like NestJS, it adds metadata and properties to the function of the method. */
function Get(path: string) {
  const mark = (method: object) => {
    Reflect.defineMetadata('path', path, method)
    Object.assign(method, { tag: path, [CODE]: 200 })
    Object.defineProperty(method, 'hidden', { value: 'kept', configurable: true })
  }
  return (first: unknown, second: unknown, descriptor?: PropertyDescriptor): never => {
    mark((typeof second === 'object' ? first : descriptor?.value) as object)
    return (typeof second === 'object' ? first : descriptor) as never
  }
}

/** Applies decorators as TypeScript's `experimentalDecorators` do: the lowest first. */
function legacy(type: new () => object, key: string, ...decorators: unknown[]): void {
  const { prototype } = type
  let descriptor = Object.getOwnPropertyDescriptor(prototype, key) as PropertyDescriptor
  for (const decorator of decorators.toReversed())
    descriptor =
      ((decorator as LegacyDecorator)(prototype, key, descriptor) as PropertyDescriptor) ?? descriptor
  Object.defineProperty(prototype, key, descriptor)
}

class Standard {
  @ft.Retry()
  @Get('/above')
  async above(id: string, depth: number): Promise<string> {
    return `${id}${depth}`
  }

  @Get('/below')
  @ft.Retry()
  async below(id: string, depth: number): Promise<string> {
    return `${id}${depth}`
  }

  @ft.Retry()
  @Get('/between')
  @ft.Timeout(1000)
  async between(id: string, depth: number): Promise<string> {
    return `${id}${depth}`
  }
}

class Legacy {
  async above(id: string, depth: number): Promise<string> {
    return `${id}${depth}`
  }

  async below(id: string, depth: number): Promise<string> {
    return `${id}${depth}`
  }

  async between(id: string, depth: number): Promise<string> {
    return `${id}${depth}`
  }
}
legacy(Legacy, 'above', ft.Retry(), Get('/above'))
legacy(Legacy, 'below', Get('/below'), ft.Retry())
legacy(Legacy, 'between', ft.Retry(), Get('/between'), ft.Timeout(1000))

describe.each([
  ['a standard decorator', Standard],
  ['a decorator of experimentalDecorators', Legacy],
])('%s', (_, type) => {
  it.each(['above', 'below', 'between'] as const)(
    'keeps name, length, properties and metadata when it is %s another decorator',
    async (key) => {
      const method = type.prototype[key] as ((...args: never[]) => unknown) & Record<PropertyKey, unknown>
      expect(Reflect.getMetadata('path', method)).toBe(`/${key}`)
      expect(Reflect.getOwnMetadataKeys(method)).toEqual(['path'])
      expect([method.name, method.length]).toEqual([key, 2])
      expect([method.tag, method[CODE], method.hidden]).toEqual([`/${key}`, 200, 'kept'])
      expect(await new type()[key]('a', 1)).toBe('a1')
    },
  )
})

it('the metadata of one decorated method does not affect another with the same function', () => {
  class Two {
    async one() {}
  }
  const { one } = Two.prototype
  const decorated = ft.Retry()(Two.prototype, 'one', { value: one, configurable: true }).value as object
  Reflect.defineMetadata('path', '/decorated', decorated)
  expect(Reflect.getMetadata('path', one)).toBeUndefined()
})
