// The page of the REST API, from the OpenAPI document of the server.
import { code, createAnchors, escapeText, table } from './markdown.mjs'
import { fieldsOf, fieldTable, typeOf } from './schema-fields.mjs'
import { factPage } from './tables.mjs'

/** @typedef {Record<string, any>} Json */

const METHODS = ['get', 'put', 'post', 'patch', 'delete']

/** The OpenAPI document of a server without data. @param {Json} sources */
export async function openApiOf({ Holdfast, buildApp, createOpenApiDocument }) {
  const hf = await Holdfast.open({ config: {}, watch: false })
  const { app, close } = buildApp(hf)
  try {
    return createOpenApiDocument(app)
  } finally {
    await close()
    await hf.close()
  }
}

/** @param {Json} document */
function operationsOf(document) {
  return Object.entries(document['paths']).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({
      path,
      method: method.toUpperCase(),
      ...item[method],
    })),
  )
}

/** Fields and parameters without a description. @param {Json} document */
export const findWithoutDescription = (document) => [
  ...operationsOf(document).flatMap(({ method, path, parameters = [] }) =>
    parameters
      .filter((/** @type {Json} */ one) => !one['description'] && !one['schema']?.description)
      .map((/** @type {Json} */ { name }) => `the parameter ${name} of ${method} ${path}`),
  ),
  ...Object.entries(document['components'].schemas).flatMap(([name, schema]) =>
    fieldsOf(schema)
      .filter(({ description }) => description === '')
      .map((field) => `the field ${field.name} of the schema ${name} of the REST API`),
  ),
]

/** @param {Json} document */
export function restPage(document) {
  const operations = operationsOf(document)
  const schemas = document['components'].schemas
  const anchor = createAnchors()
  const headings = new Map(operations.map((one) => [one, `${one.method} ${one.path}`]))
  for (const heading of ['REST API', 'Endpoints']) anchor(heading)
  const tags = document['tags']
    .map((/** @type {Json} */ tag) => ({
      ...tag,
      operations: operations.filter((one) => one.tags?.[0] === tag.name),
    }))
    .filter((/** @type {Json} */ tag) => tag['operations'].length > 0)
  /** @type {Map<unknown, string>} */
  const anchors = new Map()
  for (const tag of tags) {
    anchor(titleOf(tag.name))
    for (const one of tag.operations) anchors.set(one, anchor(headings.get(one) ?? ''))
  }
  anchor('Schemas')
  /** @type {Map<string, string>} */
  const schemaAnchors = new Map(Object.keys(schemas).map((name) => [name, anchor(name)]))
  const link = (/** @type {Json | undefined} */ schema) => {
    if (schema === undefined) return ''
    const type = typeOf(schema)
    const name = type.replace(/\[\]$/, '')
    return schemaAnchors.has(name) ? `[${code(type)}](#${schemaAnchors.get(name)})` : code(type)
  }
  return factPage(
    10,
    'REST API',
    'Every endpoint of `@holdfast/server`. The server provides the same information as OpenAPI at `/openapi.json` and as a page at `/docs`. Guides: [REST API](../rest-api.md), [access](../access.md).',
    'Records are in snake_case, durations are seconds, times are ISO 8601 in UTC. Each role includes the ones before it: `viewer`, `operator`, `admin`. A change accepts the header `x-reason`, or the field `reason` of its body, for the audit trail.',
    '## Endpoints',
    table(
      ['endpoint', 'role', 'summary'],
      operations.map((one) => [
        `[${code(headings.get(one) ?? '')}](#${anchors.get(one)})`,
        one['x-role'] ?? 'none',
        escapeText(one.summary ?? ''),
      ]),
    ),
    ...tags.flatMap((/** @type {Json} */ tag) => [
      `## ${titleOf(tag['name'])}`,
      escapeText(tag['description'] ?? ''),
      ...tag['operations'].flatMap((/** @type {Json} */ one) => [
        `### ${code(headings.get(/** @type {any} */ (one)) ?? '')}`,
        escapeText((one['description'] ?? one['summary']).replace(/ Requires the role \w+\.$/, '')),
        `Role: ${one['x-role'] === undefined ? 'none; no token is required' : code(one['x-role'])}.`,
        parameterTable(one['parameters'] ?? []),
        bodyText(one['requestBody'], link),
        responseTable(one['responses'], link),
      ]),
    ]),
    '## Schemas',
    ...Object.entries(schemas).flatMap(([name, schema]) => [
      `### ${name}`,
      schema.description === undefined ? undefined : escapeText(schema.description),
      schema.properties === undefined
        ? `Type: ${code(typeOf(schema))}.`
        : fieldTable(fieldsOf(schema).map(withoutCodes)),
    ]),
  )
}

/** The list of error codes has a page of its own. @param {import('./schema-fields.mjs').Field} field */
const withoutCodes = (field) => ({
  ...field,
  description: field.description.replace(/:\n\n- `[\s\S]*$/, '. See [error codes](error-codes.md).'),
})

/** @param {string} name */
const titleOf = (name) => name.charAt(0).toUpperCase() + name.slice(1)

/** @param {Json[]} parameters */
const parameterTable = (parameters) =>
  parameters.length === 0
    ? undefined
    : table(
        ['parameter', 'in', 'type', 'required', 'default', 'description'],
        parameters.map(({ name, in: place, schema, required, description }) => [
          code(name),
          place,
          code(typeOf(schema)),
          required ? 'yes' : '',
          schema.default === undefined ? '' : code(JSON.stringify(schema.default)),
          escapeText(description ?? schema.description ?? ''),
        ]),
      )

/** @param {Json | undefined} body @param {(schema: Json | undefined) => string} link */
const bodyText = (body, link) =>
  body === undefined
    ? undefined
    : `Body${body['required'] ? '' : ' (optional)'}: ${Object.entries(body['content'])
        .map(([type, { schema }]) => (type === 'application/json' ? link(schema) : code(type)))
        .join(', ')}.${body['description'] === undefined ? '' : ` ${escapeText(body['description'])}`}`

/** @param {Json} responses @param {(schema: Json | undefined) => string} link */
const responseTable = (responses, link) =>
  table(
    ['status', 'response', 'body'],
    Object.entries(responses).map(([status, { description, content = {} }]) => [
      status,
      escapeText(description),
      Object.entries(content)
        .map(([type, { schema }]) => (type === 'application/json' ? link(schema) : code(type)))
        .join(', '),
    ]),
  )
