import { expect, test } from 'vitest'
import { jsonSchema } from '../src/schema/json-schema.js'
import { CURRENT_VERSION } from '../src/version.js'

interface Node {
  type?: string
  description?: string
  properties?: Record<string, Node>
  additionalProperties?: Node | false
  items?: Node
  anyOf?: Node[]
  required?: string[]
}

const schema = JSON.parse(JSON.stringify(jsonSchema())) as Node

/** Every key with its path and schema. */
function* keys(node: Node, path = ''): Generator<[string, Node]> {
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    yield [`${path}.${key}`, child]
    yield* keys(child, `${path}.${key}`)
  }
  if (node.additionalProperties) yield* keys(node.additionalProperties, `${path}.*`)
  if (node.items) yield* keys(node.items, `${path}[]`)
  for (const option of node.anyOf ?? []) yield* keys(option, path)
}

test('editors can identify the schema', () => {
  expect(schema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `urn:holdfast:config:${CURRENT_VERSION}`,
  })
})

test('every key of the file has a description', () => {
  const all = [...keys(schema)]
  expect(all.length).toBeGreaterThan(150)
  expect(
    all
      .filter(([, { description, anyOf }]) => !description && !anyOf?.some((option) => option.description))
      .map(([path]) => path),
  ).toEqual([])
})

/** Every optional key that is not a mapping: a mapping has the defaults of its keys. */
function* optionalKeys(node: Node, path = ''): Generator<[string, Node]> {
  for (const [key, child] of Object.entries(node.properties ?? {}))
    if (!node.required?.includes(key) && child.type !== 'object') yield [`${path}.${key}`, child]
  for (const [, child] of Object.entries(node.properties ?? {})) yield* optionalKeys(child, `${path}.*`)
  for (const child of [node.additionalProperties, node.items, ...(node.anyOf ?? [])])
    if (child) yield* optionalKeys(child, path)
}

test('every optional key has its default in its description', () => {
  const all = [...optionalKeys(schema)]
  expect(all.length).toBeGreaterThan(100)
  expect(
    all
      .filter(([, { description, anyOf }]) =>
        [description, ...(anyOf ?? []).map((option) => option.description)].every(
          (text) => !/ Default:? \S/.test(text ?? ''),
        ),
      )
      .map(([path]) => path),
  ).toEqual([])
})

test('unknown keys are refused, and durations are numbers or texts with a unit', () => {
  expect(schema.additionalProperties).toBe(false)
  const policy = schema.properties?.policies?.additionalProperties as Node
  expect(policy.additionalProperties).toBe(false)
  expect(policy.properties?.base_delay).toEqual({
    description: "The delay before the first retry. In seconds, or a text such as '500ms'. Default 1 second.",
    anyOf: [
      { type: 'number', minimum: 0 },
      { type: 'string', pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d)$' },
    ],
  })
  expect(policy.properties?.max_attempts?.anyOf).toEqual([
    { type: 'integer', minimum: 1 },
    { const: 'Infinity' },
  ])
})
