// The pages of metrics, events, stop reasons and error codes, each from the table that the code uses.

import { fileOf } from './api-pages.mjs'
import { code, escapeText, firstSentence, GENERATED, page, table } from './markdown.mjs'
import { fieldsOf, fieldTable, JSON_SCHEMA } from './schema-fields.mjs'

/** @typedef {Record<string, any>} Sources the exports of sources.mjs */

/** A page of keys, commands or codes. @param {number} order @param {string} title @param {...(string | undefined)} parts */
export const factPage = (order, title, ...parts) =>
  page(`---\ngroup: Keys, commands and codes\norder: ${order}\n---`, `# ${title}`, GENERATED, ...parts)

/** A link to an export, whose anchor is its name. @param {string} entry @param {string} name */
const apiLink = (entry, name, shown = name) => `[${code(shown)}](api/${fileOf(entry)}#${name.toLowerCase()})`

/** @param {Sources} sources */
export function metricsPage({ METRICS }) {
  /** @type {[string, { type: string, help: string, labels: readonly string[] }][]} */
  const metrics = Object.entries(METRICS)
  return factPage(
    20,
    'Metrics',
    '`GET /metrics` returns these metrics in the text format of Prometheus. If `@opentelemetry/api` is installed, OpenTelemetry receives the same metrics. Guides: [telemetry](../telemetry.md), [metrics](../metrics.md).',
    'The number of label values is limited: names beyond the limit share the value `other`.',
    '## Prometheus',
    table(
      ['name', 'type', 'labels', 'meaning'],
      metrics.map(([name, { type, help, labels }]) => [
        code(name),
        type,
        labels.map(code).join(', '),
        escapeText(help),
      ]),
    ),
    'A histogram has the series `NAME_bucket` with the label `le`, `NAME_sum` and `NAME_count`. Durations are in seconds.',
  )
}

/**
 * The events of the library: interfaces whose property `type` is a literal.
 *
 * @param {import('./api-model.mjs').Export[]} exports
 * @param {string} source where they are declared
 */
const libraryEvents = (exports, source) =>
  exports
    .filter((one) => one.source.startsWith(source) && one.members.some(({ name }) => name === 'type'))
    .map(({ name, members, inherits, doc }) => [
      apiLink('holdfast', name, members.find((member) => member.name === 'type')?.text.replaceAll("'", '')),
      escapeText(firstSentence(doc.summary)),
      [...members, ...inherits.flatMap((base) => exports.find((one) => one.name === base)?.members ?? [])]
        .filter((member) => member.name !== 'type')
        .map((member) => code(member.name))
        .join(', '),
    ])

/** @param {Sources} sources @param {import('./api-model.mjs').Entry[]} entries */
export function eventsPage({ records, z }, entries) {
  const fields = fieldsOf(z.toJSONSchema(records.eventSchema, JSON_SCHEMA))
  const exports = entries.find(({ id }) => id === 'holdfast')?.exports ?? []
  /** @type {[string, { when: string, fields?: readonly string[], context?: Record<string, string> }][]} */
  const types = Object.entries(records.EVENT_TYPE_INFO)
  const always = fields.filter((/** @type {any} */ field) => field.isRequired)
  return factPage(
    30,
    'Events',
    'A runtime records events, delivers them to listeners of `hf.events.on`, and streams them at `GET /api/v1/events`. Names are those of the wire format; in TypeScript they are in camelCase, except within `context`. Guide: [events and sessions](../events-and-sessions.md).',
    '## Types',
    table(
      ['type', 'when', 'fields'],
      types.map(([type, { when, fields: own = [] }]) => [
        `[${code(type)}](#${type})`,
        escapeText(when),
        own.map(code).join(', '),
      ]),
    ),
    '## Fields',
    `Every event has ${always.map((/** @type {any} */ { name }) => code(name)).join(', ')}. Another field is absent if it does not apply.`,
    fieldTable(fields),
    '## Context',
    'The fields of `context`. A field is present only if it applies. Events of calls also have the context that the caller passed.',
    ...types.flatMap(([type, { context = {} }]) => [
      `### ${type}`,
      Object.keys(context).length === 0
        ? 'The context that the caller passed.'
        : table(
            ['field', 'meaning'],
            Object.entries(context).map(([name, meaning]) => [code(name), escapeText(meaning)]),
          ),
    ]),
    '## Events of a guard',
    'A guard of the package `holdfast` has no store and no runtime. `guard.on` calls a listener with these objects.',
    table(
      ['type', 'when', 'fields'],
      ['packages/core/src/execution/', 'packages/core/src/guard/'].flatMap((source) =>
        libraryEvents(exports, source),
      ),
    ),
    '## Events of a pool',
    '`pool.on` calls a listener with these objects.',
    table(['type', 'when', 'fields'], libraryEvents(exports, 'packages/core/src/pool/')),
  )
}

/** @param {Sources} sources */
export const stopReasonsPage = ({ records }) =>
  factPage(
    50,
    'Stop reasons',
    'Why a call ended. Guide: [events and sessions](../events-and-sessions.md).',
    table(
      ['value', 'when', 'the caller gets'],
      Object.entries(records.STOP_REASON_INFO).map(([reason, { when, result }]) => [
        code(reason),
        escapeText(when),
        escapeText(result),
      ]),
    ),
    '## Where they are recorded',
    table(
      ['place', 'field'],
      [
        ['session of a thrown error, `sessionOf(error)`', '`stopped`'],
        ['`gave_up` event of a guard', '`stopped`'],
        ['session record of a runtime, and `GET /api/v1/sessions`', '`stopped`'],
        ['[`retry_failure`](events.md#retry_failure) event', '`context.stopped`'],
        ['span of OpenTelemetry', '`holdfast.stopped`'],
      ],
    ),
    'Records accept unknown values, because a later version can add reasons.',
  )

/**
 * The responses of the forward proxy itself: the constant ones, and those to errors.
 *
 * @param {Sources} sources
 */
function proxyResponses({ proxyErrors, LIBRARY_ERRORS, HoldfastError, PrivateTargetError }) {
  const { toErrorResponse, tooManyGuesses, ...others } = proxyErrors
  const constants = Object.values(others).filter((one) => typeof one?.status === 'number' && one.error)
  const errors = [
    ...Object.keys(LIBRARY_ERRORS).map((name) => new HoldfastError(name, '')),
    new PrivateTargetError(),
    Object.assign(new Error(), { status: 429 }),
    Object.assign(new Error(), { status: 504 }),
    Object.assign(new Error(), { code: 'ECONNRESET' }),
  ]
  const rows = [...constants, tooManyGuesses(0), ...errors.map((error) => toErrorResponse(error))]
    .toSorted((a, b) => a.status - b.status)
    .map(({ status, error, message }) => [String(status), code(error), escapeText(message)])
  return [...new Map(rows.map((row) => [row.join(), row])).values()]
}

/** @param {Sources} sources @param {import('./api-model.mjs').Entry[]} entries */
export function errorCodesPage(sources, entries) {
  const { LIBRARY_ERRORS, SERVER_ERRORS, HTTP_STATUS_BY_CODE, HoldfastError, classify } = sources
  const categoryOf = (/** @type {string} */ name) => classify(new HoldfastError(name, '')).category
  const classes = entries.flatMap(({ id, exports }) =>
    exports
      .filter(
        ({ entry, kind, signatures }) =>
          entry === id && kind === 'class' && /extends \w*Error\b/.test(signatures[0] ?? ''),
      )
      .map(({ name, doc }) => [apiLink(id, name), code(id), escapeText(firstSentence(doc.summary))]),
  )
  const rows = (/** @type {Record<string, any>} */ errors, /** @type {boolean} */ isLibrary) =>
    Object.entries(errors)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { meaning, action }]) => [
        `<a id="${name.toLowerCase()}"></a>${code(name)}`,
        String(HTTP_STATUS_BY_CODE[name]),
        isLibrary ? categoryOf(name) : '',
        escapeText(meaning),
        escapeText(action),
      ])
  const head = ['code', 'HTTP status', 'category', 'meaning', 'what to do']
  return factPage(
    40,
    'Error codes',
    'When retries end, the error of the last attempt is thrown unchanged. Holdfast creates an error only if there was no attempt whose error it could throw (for example, a circuit breaker rejects a call before its first attempt), or if a timeout ended the call. A code is stable: it never changes its meaning, and a removed code is never used again. Guide: [errors](../errors.md).',
    '## Errors of the library',
    `These are instances of ${apiLink('holdfast', 'HoldfastError')}; \`code\` distinguishes them, and \`isHoldfastError(error, code)\` recognises them. The server responds with the HTTP status of the table. A guard retries an error of the category \`transient\`.`,
    table(head, rows(LIBRARY_ERRORS, true)),
    '## Errors of the server',
    'Only responses of the REST API have these codes. The body of an error is `{ error, message, details? }`, where `error` is the code.',
    table(head, rows(SERVER_ERRORS, false)),
    '## Responses of the forward proxy',
    'The forward proxy responds with these codes if it rejects a request or if the request does not reach its target. The body is `{ error, message }`.',
    table(['HTTP status', 'code', 'message'], proxyResponses(sources)),
    '## Error classes',
    table(['class', 'entry', 'description'], classes),
  )
}
