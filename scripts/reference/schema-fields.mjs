// The fields of JSON Schemas, in words.
import { code, escapeText, table } from './markdown.mjs'

/** @typedef {Record<string, any>} Schema */

/** How schemas of zod become JSON Schemas: as they are on the wire. */
export const JSON_SCHEMA = /** @type {const} */ ({ io: 'input', unrepresentable: 'any' })

/** @param {Schema} schema */
function bounds(schema) {
  const isNumeric = ['number', 'integer'].includes(schema['type'])
  const { minimum, maximum, exclusiveMinimum } = isNumeric ? schema : /** @type {Schema} */ ({})
  const { minLength, maxLength, maxItems } = schema
  const isSafe = (/** @type {number | undefined} */ value) =>
    value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER
  if (isSafe(minimum) && isSafe(maximum)) return ` ${minimum} to ${maximum}`
  if (isSafe(exclusiveMinimum))
    return ` above ${exclusiveMinimum}${isSafe(maximum) ? `, up to ${maximum}` : ''}`
  if (isSafe(minimum)) return ` from ${minimum}`
  if (isSafe(maximum)) return ` up to ${maximum}`
  if (isSafe(maxItems)) return `, at most ${maxItems}`
  // Almost every string has a minimum of 1 character, which needs no words.
  if (isSafe(maxLength)) return `, at most ${maxLength} characters`
  return minLength > 1 ? `, at least ${minLength} characters` : ''
}

/** The type of a schema in words. @param {Schema} schema @returns {string} */
export function typeOf(schema) {
  if (schema['$ref']) return schema['$ref'].split('/').at(-1)
  const words = schema['x-extensible-enum'] ?? schema['enum']
  if (words !== undefined) return words.map((/** @type {unknown} */ word) => JSON.stringify(word)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema['const'])
  const options = schema['anyOf'] ?? schema['oneOf']
  if (options !== undefined) {
    const types = options.map(typeOf)
    // A parameter that can be repeated is one value or an array of them.
    if (types.length === 2 && options[1].type === 'array' && typeOf(options[1].items) === types[0])
      return `${types[0]}, can be repeated`
    // A check without a type stands beside the types that it completes.
    return [...new Set(types)].filter((type) => type !== 'any').join(' | ') || 'any'
  }
  if (schema['allOf'] !== undefined) return schema['allOf'].map(typeOf).join(' & ')
  const { type, items, additionalProperties, properties } = schema
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' | ')
  if (type === 'array') {
    const item = items === undefined ? 'any' : typeOf(items)
    return `${item.includes(' ') ? `(${item})` : item}[]${bounds(schema)}`
  }
  if (type === 'object' && properties === undefined)
    return additionalProperties && Object.keys(additionalProperties).length > 0
      ? `map of ${typeOf(additionalProperties)}`
      : 'object'
  if (type === 'object')
    return `{ ${Object.entries(properties)
      .map(([name, one]) => `${name}${schema['required']?.includes(name) ? '' : '?'}: ${typeOf(one)}`)
      .join('; ')} }`
  if (type === 'string' && schema['format'] === 'date-time') return 'time (ISO 8601)'
  const [, word] = (type === 'string' && schema['pattern']?.match(/^\^(\w+)\$$/)) || []
  if (word !== undefined) return JSON.stringify(word)
  return type === undefined ? 'any' : `${type}${bounds(schema)}`
}

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} type
 * @property {boolean} isRequired
 * @property {unknown} defaultValue
 * @property {string} description
 */

/** @param {Schema} schema of an object @returns {Field[]} */
export const fieldsOf = (schema) =>
  Object.entries(schema['properties'] ?? {}).map(([name, field]) => ({
    name,
    type: typeOf(field),
    isRequired: schema['required']?.includes(name) === true && field.default === undefined,
    defaultValue: field.default,
    description: descriptionOf(field),
  }))

/** @param {Schema} field @returns {string} */
const descriptionOf = (field) =>
  field['description'] ??
  (field['anyOf'] ?? [])
    .map((/** @type {Schema} */ one) => one['description'])
    .find((/** @type {unknown} */ text) => text !== undefined) ??
  ''

/** @param {Field[]} fields */
export const fieldTable = (fields) =>
  table(
    ['field', 'type', 'required', 'default', 'description'],
    fields.map(({ name, type, isRequired, defaultValue, description }) => [
      code(name),
      code(type),
      isRequired ? 'yes' : '',
      defaultValue === undefined ? '' : code(JSON.stringify(defaultValue)),
      escapeText(description),
    ]),
  )
