// The page of the config keys, from the schema that checks the file.
import { code, escapeText, fence, table } from './markdown.mjs'
import { factPage } from './tables.mjs'

/** @typedef {any} Schema a schema of zod */

/** The default within a description: `… Default 3.`, `… Default: the id.` */
const DEFAULT = /\s+Default:?\s+(.+?)\.(?=\s|$)/

/** How messages write a duration. The page explains it once. */
const DURATION = / *,? in seconds or as '500ms', '30s', '5m', '24h', '30d'/

/**
 * @param {Record<string, any>} sources
 */
export function configPage({ configSchema, walk, z, fieldInfo, BUILT_IN_POLICIES }) {
  const { unwrap, kindOf, shapeOf, childOf, itemOf, expectedValue, takesNull } = walk

  const descriptionOf = (/** @type {Schema} */ schema) =>
    z.globalRegistry.get(schema)?.description ?? z.globalRegistry.get(unwrap(schema))?.description ?? ''

  /** The name of the value type in the form of the file. @param {Schema} schema @returns {string} */
  const expectedOf = (schema) => {
    const kind = kindOf(schema)
    if (kind === 'object') return 'a mapping'
    if (kind === 'record') return 'a mapping by name'
    const item = kind === 'array' ? itemOf(schema) : undefined
    if (item !== undefined && kindOf(item) === 'object') return 'a list of mappings'
    return expectedValue(schema, 'wire').replace(DURATION, '') + (takesNull(schema) ? ', or null' : '')
  }

  /** Mappings within a mapping, each with the path of its keys. @param {Schema} schema @param {string} path @returns {{ path: string, schema: Schema }[]} */
  const sections = (schema, path) => {
    const kind = kindOf(schema)
    if (kind === 'object')
      return [
        { path, schema },
        ...Object.entries(shapeOf(schema)).flatMap(([key, child]) =>
          sections(child, path === '' ? key : `${path}.${key}`),
        ),
      ]
    if (kind === 'record') return sections(childOf(schema, 'any'), `${path}.NAME`)
    const item = kind === 'array' ? itemOf(schema) : undefined
    return item !== undefined && kindOf(item) === 'object' ? sections(item, `${path}[]`) : []
  }

  /** The cells of each key. @param {Schema} schema @returns {string[][]} */
  const rowsOf = (schema) =>
    Object.entries(shapeOf(schema)).map(([key, child]) => {
      // The unit has a column of its own.
      const { unit = '', expected = '' } = fieldInfo.get(unwrap(child)) ?? {}
      const description = descriptionOf(child).replace(unit, '').replace(/ {2,}/g, ' ')
      const isRequired = unwrap(child) === child && !z.safeParse(child, undefined).success
      return [
        `${code(key)}${isRequired ? ' (required)' : ''}`,
        escapeText(expectedOf(child)),
        DURATION.test(expected) ? 's' : '',
        escapeText(description.match(DEFAULT)?.[1] ?? ''),
        escapeText(description.replace(DEFAULT, '')),
      ]
    })

  /** @type {{ path: string, rows: Set<string> }[]} */
  const shown = []

  /** The keys of a mapping, or the name of an earlier one that has the same. @param {string} path @param {Schema} schema */
  const keysOf = (path, schema) => {
    const rows = rowsOf(schema)
    const texts = rows.map((row) => row.join('|'))
    const earlier = shown.find((one) => texts.every((text) => one.rows.has(text)))
    if (earlier === undefined) {
      shown.push({ path, rows: new Set(texts) })
      return table(['key', 'value', 'unit', 'default', 'description'], rows)
    }
    const missing = [...earlier.rows]
      .filter((text) => !texts.includes(text))
      .map((text) => text.split('|', 1)[0])
    return `The keys are those of \`${earlier.path}\`${missing.length === 0 ? '' : `, except ${missing.join(', ')}`}.`
  }

  // The defaults of policies come after policies, which explain them.
  const isDefaults = (/** @type {{ path: string }} */ { path }) => path.startsWith('global_defaults')
  const below = sections(configSchema, '').filter(({ path }) => path !== '')
  const ordered = [...below.filter((one) => !isDefaults(one)), ...below.filter(isDefaults)]
  return factPage(
    1,
    'Config keys',
    'Every key of `holdfast.yaml`. `holdfast check` reports unknown keys and values that are not valid, with their lines. A duration is a number of seconds or a text with a unit: `500ms`, `30s`, `5m`, `24h`, `30d`. In TypeScript objects the keys are in camelCase and numbers are milliseconds. Guide: [configuration](../configuration.md).',
    '## Schema for editors',
    'The package `@holdfast/runtime` contains the schema as JSON Schema, draft 2020-12: `@holdfast/runtime/schema.json`. Editors that use it complete keys, show their descriptions and mark mistakes.',
    'In a YAML file, for editors with yaml-language-server (the YAML extension of VS Code, Neovim, Helix):',
    fence('# yaml-language-server: $schema=./node_modules/@holdfast/runtime/dist/schema.json', 'yaml'),
    'For all config files of a workspace, in `.vscode/settings.json`:',
    fence(
      JSON.stringify(
        {
          'yaml.schemas': {
            './node_modules/@holdfast/runtime/dist/schema.json': ['holdfast.yaml', 'holdfast.*.yaml'],
          },
          'json.schemas': [
            { fileMatch: ['holdfast.json'], url: './node_modules/@holdfast/runtime/dist/schema.json' },
          ],
        },
        null,
        2,
      ),
      'json',
    ),
    '## Top level',
    keysOf('', configSchema),
    ...ordered.flatMap(({ path, schema }) => [`## ${code(path)}`, keysOf(path, schema)]),
    '## Built-in policies',
    'They apply without a file, too. A policy of the file with the same id replaces a built-in one completely.',
    table(
      ['id', 'description', 'values'],
      Object.entries(BUILT_IN_POLICIES).map(([id, { description, ...values }]) => [
        code(id),
        escapeText(description ?? ''),
        Object.entries(values)
          .filter(([key]) => key !== 'name')
          .map(([key, value]) => code(`${key}: ${value}`))
          .join(', '),
      ]),
    ),
  )
}
