import { deepCopy } from '@holdfast/records'
import { expect, it } from 'vitest'

it('copies plain data that its reader can change', () => {
  const at = new Date(5)
  const other = new (class {
    field = [1]
  })()
  const bare = Object.assign(Object.create(null) as object, { list: [{ at }] })
  const data = Object.freeze({ at, other, bare, none: null, text: 'x', missing: undefined })
  const copy = deepCopy(data)
  expect(copy).toEqual({ at, other, bare: { list: [{ at }] }, none: null, text: 'x', missing: undefined })
  expect(Object.keys(copy)).toEqual(Object.keys(data))
  expect(copy.at).not.toBe(at)
  expect(copy.bare).not.toBe(bare)
  expect(copy.other).toBe(other)
  copy.at.setTime(6)
  expect(Object.assign(copy, { text: 'y' }).text).toBe('y')
  expect(data.at.getTime()).toBe(5)
})

it('copies a field with the name __proto__ as data', () => {
  const data = JSON.parse('{"__proto__":{"nested":{"__proto__":1}},"own":{"__proto__":[2]}}') as object
  const copy = deepCopy(data)
  expect(JSON.stringify(copy)).toBe(JSON.stringify(data))
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  expect((copy as { nested?: unknown }).nested).toBeUndefined()
  const field = (value: object) => Object.getOwnPropertyDescriptor(value, '__proto__')
  expect(field(copy)?.value).not.toBe(field(data)?.value)
})
