// All pages of the reference.
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { formatSchema, root } from '../packages.mjs'
import { readApi } from './api-model.mjs'
import { apiIndex, apiPages, findUndocumented } from './api-pages.mjs'
import { cliPage } from './cli-page.mjs'
import { configPage } from './config-page.mjs'
import { GENERATED, page, table } from './markdown.mjs'
import { findWithoutDescription, openApiOf, restPage } from './rest-page.mjs'
import { fieldsOf, JSON_SCHEMA } from './schema-fields.mjs'
import { loadSources } from './sources.mjs'
import { errorCodesPage, eventsPage, metricsPage, stopReasonsPage } from './tables.mjs'

/** @typedef {import('./api-model.mjs').Entry} Entry */

/**
 * @returns {Promise<{ pages: Map<string, string>, problems: string[] }>} the text of each file below docs/reference, and everything
 *   that has no description
 */
export async function createPages() {
  const sources = await loadSources()
  const entries = withDescriptions(readApi(), sources)
  const openApi = await openApiOf(sources)
  const pages = new Map([
    ['index.md', indexPage(entries)],
    ['config.md', configPage(sources)],
    ['cli.md', cliPage(sources)],
    ['rest.md', restPage(openApi)],
    ['metrics.md', metricsPage(sources)],
    ['events.md', eventsPage(sources, entries)],
    ['error-codes.md', errorCodesPage(sources, entries)],
    ['stop-reasons.md', stopReasonsPage(sources)],
    ...apiPages(entries),
  ])
  return {
    pages,
    problems: [
      ...findUndocumented(entries),
      ...findWithoutDescription(openApi),
      ...brokenLinks(pages),
      ...undefinedCells(pages),
      ...staleSchema(sources),
    ],
  }
}

/**
 * Adds the descriptions of schemas to the properties of types that are computed from them. Durations are milliseconds in
 * TypeScript, and seconds in the schemas.
 *
 * @param {Entry[]} entries
 * @param {Record<string, any>} sources
 * @returns {Entry[]}
 */
function withDescriptions(entries, sources) {
  const { records, z, configSchema, memberChangeSchema, walk } = sources
  /** The schema of each value of a mapping by name. @param {string} key */
  const entryOf = (key) => walk.childOf(walk.childOf(configSchema, key), 'any')
  /** @type {Record<string, any[]>} */
  const schemas = {
    ...Object.fromEntries(Object.entries(records).map(([name, schema]) => [name, [schema]])),
    policySchema: [records.policySchema, entryOf('policies')],
    configSchema: [configSchema],
    breakerEntrySchema: [entryOf('circuit_breakers')],
    memberChangeSchema: [memberChangeSchema],
  }
  /** @param {string} signature @param {string} property */
  const describe = (signature, property) => {
    const [, name = ''] = signature.match(/typeof (\w+)>$/) ?? []
    const key = property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const fields = (schemas[name] ?? []).flatMap((schema) => fieldsOf(z.toJSONSchema(schema, JSON_SCHEMA)))
    const isField = (/** @type {string} */ word) => fields.some((field) => field.name === word)
    return fields
      .find((field) => field.name === key && field.description !== '')
      ?.description.replace("In seconds, or a text such as '500ms'.", 'In milliseconds.')
      .replace(' in seconds', ' in milliseconds')
      .replace(/\b[a-z]+(_[a-z]+)+\b/g, (word) =>
        isField(word) && property !== key
          ? word.replace(/_[a-z]/g, (part) => (part[1] ?? '').toUpperCase())
          : word,
      )
  }
  return entries.map((entry) => ({
    ...entry,
    exports: entry.exports.map((one) => ({
      ...one,
      members: one.members.map((member) => {
        const summary =
          one.isComputed && member.doc.summary === '' && describe(one.signatures[0] ?? '', member.name)
        return summary ? { ...member, doc: { ...member.doc, summary } } : member
      }),
    })),
  }))
}

/** @param {Entry[]} entries */
const indexPage = (entries) =>
  page(
    '# Reference',
    GENERATED,
    'These pages are generated from the code. `npm run reference` writes them, and `npm test` fails if they are stale.',
    '## Keys, commands and codes',
    table(
      ['page', 'contents'],
      [
        [
          '[Config keys](config.md)',
          'every key of the config file, with its values and default; the schema for editors',
        ],
        ['[Command line](cli.md)', 'every command of `holdfast` with its arguments and options'],
        ['[REST API](rest.md)', 'every endpoint with its role, parameters, bodies and statuses'],
        ['[Metrics](metrics.md)', 'every metric with its type, labels and meaning'],
        ['[Events](events.md)', 'every event with its fields'],
        ['[Error codes](error-codes.md)', 'every code with its HTTP status, its meaning and what to do'],
        ['[Stop reasons](stop-reasons.md)', 'why a call ended'],
      ],
    ),
    '## API',
    'One page for each entry that a program can import. The entries `/internal` and `/worker` are for other Holdfast packages: they can change with every release.',
    apiIndex(entries),
  )

/** The schema for editors that the runtime ships, where it is not that of the sources. @param {Record<string, any>} sources */
function staleSchema({ jsonSchema }) {
  const file = join(root, 'packages/runtime/dist/schema.json')
  const shipped = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return shipped === formatSchema(jsonSchema())
    ? []
    : ['packages/runtime/dist/schema.json is not the schema of the sources: npm run build']
}

/** Cells whose value is missing in the table of the code. @param {Map<string, string>} pages */
const undefinedCells = (pages) =>
  [...pages]
    .filter(([, text]) => /\| undefined \|/.test(text))
    .map(([name]) => `docs/reference/${name} has a cell with the text undefined`)

/** Links to files that do not exist. @param {Map<string, string>} pages */
function brokenLinks(pages) {
  return [...pages].flatMap(([name, text]) =>
    [...new Set([...text.matchAll(/\]\(([^)#\s]+\.md)/g)].map(([, target = '']) => target))]
      .filter((target) => {
        const path = posix.normalize(posix.join(posix.dirname(name), target))
        return !pages.has(path) && !existsSync(join(root, 'docs/reference', path))
      })
      .map((target) => `docs/reference/${name} links to ${target}, which does not exist`),
  )
}
