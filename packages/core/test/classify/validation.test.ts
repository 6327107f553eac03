import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { classify } from '../../src/classify/index.js'
import { shaped } from './shapes.js'

describe('validation errors', () => {
  it('of zod list their fields, each once', () => {
    const schema = z.object({
      name: z.string(),
      items: z.array(z.object({ price: z.number().min(1).int() })),
    })
    const { error } = schema.safeParse({ name: 1, items: [{ price: 1 }, { price: -0.5 }] })
    expect(classify(error)).toEqual({
      category: 'permanent',
      kind: 'validation',
      fields: ['name', 'items.1.price'],
    })
  })

  it('of the whole value list no field', () => {
    expect(classify(z.string().safeParse(1).error)).toEqual({
      category: 'permanent',
      kind: 'validation',
      fields: [],
    })
  })

  it('have a list called issues or errors', () => {
    const list = [{ message: 'bad', path: ['a', 0] }]
    const answer = { category: 'permanent', kind: 'validation', fields: ['a.0'] }
    expect(classify(shaped({ issues: list }))).toEqual(answer)
    expect(classify(shaped({ errors: list }))).toEqual(answer)
    expect(classify(shaped({ issues: 3, errors: list }))).toEqual(answer)
  })

  it('have a path as a string, as keys, or as objects with keys', () => {
    const issues = [
      { message: 'bad', path: 'a.b' },
      { message: 'bad', path: [{ key: 'c' }, { key: 0 }] },
      { message: 'bad', path: [Symbol('d')] },
    ]
    expect(classify(shaped({ issues })).fields).toEqual(['a.b', 'c.0', 'Symbol(d)'])
  })

  it('without a list are classified by their name', () => {
    expect(classify(shaped({ name: 'ValidationError', errors: ['a is bad'] }))).toEqual({
      category: 'permanent',
      kind: 'validation',
    })
  })

  it.each([
    ['no entries', []],
    ['entries without a path', [{ message: 'x' }]],
    ['entries that are no objects', ['x', null, 3]],
    ['a path of another type', [{ message: 'x', path: 3 }]],
    ["GraphQL's errors", [{ message: 'x', path: ['user'], locations: [] }]],
    ['errors of files', [Object.assign(new Error('x'), { path: '/tmp/x' })]],
  ])('are not lists with %s', (_, list) => {
    expect(classify(shaped({ issues: list })).kind).toBe('unknown')
    expect(classify(shaped({ errors: list })).kind).toBe('unknown')
  })

  it('keep the entries that are issues among others', () => {
    expect(classify(shaped({ issues: ['x', { path: ['a'] }] })).fields).toEqual(['a'])
  })
})
