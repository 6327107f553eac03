// What each entry is for, and the topics of its page: exports are grouped by the file that declares them.

/**
 * @typedef {object} Topic
 * @property {string} title
 * @property {string[]} sources beginnings of paths below `packages/`; an export belongs to the topic with the longest match
 * @property {string} [guide] the page of `docs/` that explains it
 */

/** @typedef {{ about: string, topics: Topic[] }} EntryTopics */

/** @param {string} title @param {string | string[]} sources @param {string} [guide] @returns {Topic} */
const topic = (title, sources, guide) => ({
  title,
  sources: [sources].flat(),
  ...(guide === undefined ? {} : { guide }),
})

const SESSIONS = ['records/src/session', 'records/src/event-types', 'records/src/stop-reasons']

/** @type {Record<string, EntryTopics>} */
export const TOPICS = {
  holdfast: {
    about:
      'Guards, circuit breakers, pools and everything that a single call needs. It has no dependencies and uses no Node.js modules.',
    topics: [
      topic('Guards', ['core/src/guard/', 'core/src/attempt/', 'core/src/execution/'], 'options.md'),
      topic('Retry', 'core/src/retry/', 'retry.md'),
      topic('Retry budget', 'core/src/retry/budget', 'retry-budget.md'),
      topic('Circuit breaker', 'core/src/breaker/', 'circuit-breaker.md'),
      topic('Bulkhead', 'core/src/bulkhead/', 'bulkhead.md'),
      topic('Hedge', 'core/src/hedge/', 'hedge.md'),
      topic('Fallback', 'core/src/fallback/', 'fallback.md'),
      topic('Pools', 'core/src/pool/', 'pool.md'),
      topic('Classification of errors', 'core/src/classify/', 'classification.md'),
      topic(
        'Events and sessions',
        [
          'core/src/session/',
          'core/src/execution/events',
          'core/src/guard/events',
          'core/src/retry/stop-reason',
        ],
        'events-and-sessions.md',
      ),
      topic('Errors', 'core/src/errors', 'errors.md'),
      topic('Time and random numbers', ['core/src/clock', 'core/src/duration'], 'options.md'),
    ],
  },
  'holdfast/decorators': {
    about: 'Decorators for the methods of a class, with the parameters of MicroProfile Fault Tolerance.',
    topics: [
      topic('Decorators', ['core/src/decorators/', 'core/src/attempt/'], 'decorators.md'),
      topic(
        'Shared configuration',
        ['core/src/decorators/configure', 'core/src/decorators/overrides'],
        'decorators.md',
      ),
    ],
  },
  'holdfast/http': {
    about: 'A `fetch` with retries, timeouts, circuit breakers and pools.',
    topics: [topic('fetch', ['core/src/http/', 'core/src/retry/'], 'fetch.md')],
  },
  'holdfast/presets': {
    about: 'Options for services and databases that many programs call.',
    topics: [topic('Presets', 'core/src/presets/', 'presets.md')],
  },
  'holdfast/retry': {
    about: 'Retries without a guard, in a small bundle.',
    topics: [topic('Retry', 'core/src/retry-function/', 'retry.md')],
  },
  'holdfast/sql': {
    about: 'Transactions that are retried as a whole, and the classification of database errors.',
    topics: [topic('Transactions', ['core/src/sql/', 'core/src/classify/'], 'sql.md')],
  },
  'holdfast/telemetry': {
    about: 'Metrics and spans of a guard for OpenTelemetry.',
    topics: [topic('Telemetry', 'core/src/telemetry/', 'telemetry.md')],
  },
  'holdfast/testing': {
    about: 'A clock, random numbers and functions that tests control.',
    topics: [topic('Testing', 'core/src/testing/', 'testing.md')],
  },
  'holdfast/undici': {
    about: 'An interceptor that gives retries and circuit breakers to dispatchers of undici.',
    topics: [topic('Interceptor', 'core/src/undici/', 'undici.md')],
  },
  '@holdfast/runtime': {
    about:
      'One configuration for every call of a program, with sessions, events, metrics, dead letters and an audit trail.',
    topics: [
      topic('Runtime', ['runtime/src/', 'runtime/src/holdfast/'], 'runtime.md'),
      topic('Configuration', ['config/src/', 'runtime/src/config/'], 'configuration.md'),
      topic('Migration', ['config/src/migrate/', 'records/src/migrate/'], 'migration/config-files.md'),
      topic('Dead letters', ['runtime/src/dead-letters/', 'records/src/dead-letter'], 'dead-letters.md'),
      topic('Pipelines', 'runtime/src/pipeline/', 'pipeline.md'),
      topic('Circuit breakers', ['runtime/src/breakers/', 'records/src/breaker'], 'circuit-breaker.md'),
      topic('Pools', 'runtime/src/pools/', 'pool.md'),
      topic(
        'Sessions and events',
        ['runtime/src/sessions/', 'runtime/src/events/', ...SESSIONS],
        'records.md',
      ),
      topic('Requests', 'runtime/src/http/', 'fetch.md'),
      topic('Telemetry', 'runtime/src/telemetry/', 'telemetry.md'),
      topic('Metrics', ['runtime/src/metrics/', 'records/src/metrics'], 'metrics.md'),
      topic('Errors and audit', ['runtime/src/error-log/', 'records/src/errors'], 'error-records.md'),
      topic('Policies', 'records/src/policy', 'records.md'),
      topic('Responses', 'records/src/responses', 'records.md'),
      topic('Names and numbers of records', 'records/src/constants', 'records.md'),
      topic('Wire format', 'runtime/src/wire', 'records.md'),
      topic('Redaction', 'records/src/redact/', 'redaction.md'),
      topic('Stores', 'store/src/', 'stores.md'),
      topic('Fleet', ['fleet/src/', 'runtime/src/fleet/'], 'fleet.md'),
    ],
  },
  '@holdfast/runtime/config': {
    about: 'The functions that check, resolve and explain a config file, without a runtime.',
    topics: [topic('Configuration', 'config/src/', 'configuration.md')],
  },
  '@holdfast/server': {
    about: 'The REST API, the event stream, the dashboard and access control for a runtime.',
    topics: [
      topic('Server', ['server/src/serve/', 'server/src/'], 'server.md'),
      topic('Access', ['server/src/auth/', 'server/src/roles'], 'access.md'),
      topic('Telemetry', 'runtime/src/telemetry/', 'telemetry.md'),
    ],
  },
  '@holdfast/proxy': {
    about: 'Pools of HTTP, HTTPS and SOCKS5 proxies, and a forward proxy that selects one for each request.',
    topics: [
      topic('Forward proxy', ['proxy/src/start/', 'proxy/src/server/'], 'proxy.md'),
      topic('Pools of proxies', 'proxy/src/members/', 'proxy-pools.md'),
      topic('Connections through a proxy', ['proxy/src/connect/', 'proxy/src/errors'], 'proxy-pools.md'),
      topic('Allowed targets', 'proxy/src/targets/', 'proxy.md'),
    ],
  },
  '@holdfast/nestjs': {
    about: 'A module, decorators and an exception filter for NestJS 11.',
    topics: [topic('NestJS', 'nestjs/src/', 'nestjs.md')],
  },
  '@holdfast/nestjs/terminus': {
    about: 'Health checks of guards and the runtime for Terminus 11.',
    topics: [topic('Health checks', 'nestjs/src/terminus/', 'nestjs.md#health-checks')],
  },
  '@holdfast/store': {
    about: 'The storage interface and its backends: memory, files, SQLite and PostgreSQL.',
    topics: [
      topic(
        'Stores',
        ['store/src/store', 'store/src/journals', 'store/src/dead-letter-store', 'store/src/open/'],
        'stores.md',
      ),
      topic('For other backends', 'store/src/', 'stores.md'),
    ],
  },
  '@holdfast/store/interface': {
    about: 'The types of the storage interface, without the code of a backend.',
    topics: [topic('Stores', 'store/src/', 'stores.md')],
  },
  '@holdfast/config': {
    about:
      'The config file: its schema, checks, layers, live changes, reload and migration. `@holdfast/runtime` uses it.',
    topics: [
      topic(
        'Reading and checking',
        ['config/src/check/', 'config/src/problem', 'config/src/file/', 'config/src/environment/'],
        'configuration.md',
      ),
      topic('Schema', 'config/src/schema/', 'configuration.md'),
      topic(
        'Resolved configuration',
        ['config/src/resolve/', 'config/src/active-config/', 'config/src/retention', 'config/src/defaults'],
        'configuration.md',
      ),
      topic('Explanation', 'config/src/explain/', 'configuration.md'),
      topic(
        'Changes at run time',
        ['config/src/live-changes/', 'config/src/reload/', 'config/src/members/'],
        'hot-reload.md',
      ),
      topic('Migration', 'config/src/migrate/', 'migration/config-files.md'),
      topic('Context of a runtime', 'config/src/runtime-context', 'runtime.md'),
    ],
  },
  '@holdfast/records': {
    about:
      'The records that Holdfast writes: their schemas, the codecs between the wire format and TypeScript, and redaction.',
    topics: [
      topic('Sessions and events', SESSIONS, 'records.md'),
      topic('Circuit breakers', 'records/src/breaker', 'records.md'),
      topic('Dead letters', 'records/src/dead-letter', 'dead-letters.md'),
      topic('Errors and audit', 'records/src/errors', 'error-records.md'),
      topic('Metrics', 'records/src/metrics', 'metrics.md'),
      topic('Policies', 'records/src/policy', 'records.md'),
      topic('Responses', 'records/src/responses', 'records.md'),
      topic('Redaction', 'records/src/redact/', 'redaction.md'),
      topic('Migration', 'records/src/migrate/', 'migration/config-files.md'),
      topic('Codecs', ['records/src/codec/', 'records/src/json-writers'], 'records.md'),
      topic('Checks of options', ['records/src/option-checks', 'core/src/suggest']),
      topic('Helpers', 'records/src/'),
    ],
  },
  '@holdfast/records/constants': {
    about: 'The fixed names and numbers of records, without the schemas.',
    topics: [topic('Names and numbers', 'records/src/', 'records.md')],
  },
  '@holdfast/records/policy-fields': {
    about: 'The fields of a policy as plain data, for forms and descriptions.',
    topics: [topic('Policies', 'records/src/policy-fields', 'records.md')],
  },
  '@holdfast/records/schemas': {
    about: 'The schemas, codecs and types of all records, without the other functions of the package.',
    topics: [topic('Records', 'records/src/', 'records.md')],
  },
  '@holdfast/fleet': {
    about: 'The state that the nodes of a fleet share through Redis. `@holdfast/runtime` uses it.',
    topics: [topic('Fleet', 'fleet/src/', 'fleet.md')],
  },
  '@holdfast/adapters/ai': {
    about: 'Calls of the language models of the AI SDK under a guard, with failover between models.',
    topics: [topic('AI SDK', ['adapters/src/ai/', 'adapters/src/guard'], 'adapters.md')],
  },
  '@holdfast/adapters/aws': {
    about: 'Commands of the AWS SDK v3 under a guard.',
    topics: [topic('AWS SDK', ['adapters/src/aws/', 'adapters/src/guard'], 'adapters.md')],
  },
  '@holdfast/adapters/axios': {
    about: 'Requests of axios under a guard.',
    topics: [topic('axios', ['adapters/src/axios/', 'adapters/src/guard'], 'adapters.md')],
  },
  '@holdfast/adapters/bullmq': {
    about: 'Jobs of a BullMQ worker under a guard.',
    topics: [topic('BullMQ', 'adapters/src/bullmq/', 'adapters.md')],
  },
  '@holdfast/adapters/drizzle': {
    about: 'Transactions of Drizzle on PostgreSQL that are retried as a whole.',
    topics: [topic('Drizzle', 'adapters/src/drizzle/', 'adapters.md')],
  },
  '@holdfast/adapters/grpc': {
    about: 'Calls of gRPC clients under a guard.',
    topics: [topic('gRPC', ['adapters/src/grpc/', 'adapters/src/guard'], 'adapters.md')],
  },
  '@holdfast/adapters/knex': {
    about: 'Transactions of Knex on PostgreSQL that are retried as a whole.',
    topics: [topic('Knex', 'adapters/src/knex/', 'adapters.md')],
  },
}

/**
 * The topic of an export: the one whose source matches the longest part of the file's path.
 *
 * @param {string} entry
 * @param {string} source from the root of the repository
 * @returns {Topic | undefined}
 */
export function topicOf(entry, source) {
  const path = source.replace(/^packages\//, '')
  const lengthOf = (/** @type {Topic} */ one) =>
    Math.max(0, ...one.sources.filter((start) => path.startsWith(start)).map((start) => start.length))
  return TOPICS[entry]?.topics
    .filter((one) => lengthOf(one) > 0)
    .toSorted((a, b) => lengthOf(b) - lengthOf(a))[0]
}
