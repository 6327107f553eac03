import fc from 'fast-check'
import { stringify } from 'yaml'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { checkConfig } from '../../src/check/check.js'
import { migrateConfig } from '../../src/migrate/migrate.js'

/** The password of an address, which must be in no message. */
const PASSWORD = 'hunter2-of-the-migration'
const ADDRESS = `http://user:${PASSWORD}@host:1`

/** Names of old settings, of libraries and of this project, with and without units. */
const KEYS = [
  'version',
  'policies',
  'subsystem_mappings',
  'circuit_breakers',
  'operations',
  'maxRetries',
  'max_attempts',
  'retries',
  'attempts',
  'backoff',
  'backoffStrategy',
  'initialDelayMs',
  'delay',
  'baseDelaySeconds',
  'max_delay',
  'backoff_multiplier',
  'factor',
  'jitter',
  'jitter_type',
  'timeout',
  'timeoutMs',
  'deadline',
  'retry_on',
  'abort_on',
  'status_codes',
  'failureThreshold',
  'failure_rate',
  'resetTimeout',
  'halfOpenMax',
  'minTimeout',
  'maxTimeout',
  'randomize',
  'forever',
  'errorThresholdPercentage',
  'rollingCountTimeout',
  'volumeThreshold',
  'circuitBreaker',
  'store',
  'url',
  'browser',
  'payments',
  'default',
  '__proto__',
  'constructor',
  'toString',
  '',
]

const WORDS = ['exponential', 'fixed', 'full', 'none', '500ms', '30s', '5 minutes', 'true', 'ECONNRESET', '*']

const scalar = fc.oneof(
  fc.constantFrom<unknown>(0, 1, 3, -1, 0.5, 250, 1e308, Number.MAX_SAFE_INTEGER, null, true, false),
  fc.constantFrom<unknown>(...WORDS, ADDRESS, 'x'.repeat(3000)),
  fc.string({ maxLength: 12 }),
  fc.integer(),
)
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.dictionary(fc.oneof(fc.constantFrom(...KEYS), fc.string({ maxLength: 6 })), tie('tree'), {
      maxKeys: 5,
    }),
    fc.array(tie('tree'), { maxLength: 3 }),
  ),
}))

const documents = fc
  .tuple(fc.dictionary(fc.constantFrom(...KEYS), tree, { maxKeys: 6 }), fc.boolean())
  .map(([value, isJson]) => Buffer.from(isJson ? JSON.stringify(value) : stringify(value)))

/**
 * The text of an old config: the migration never throws. If its report says that nothing was lost, the new file is valid, and a second
 * migration keeps every policy, mapping and breaker.
 */
export const target: FuzzTarget = {
  name: 'old-configs',
  cases: documents,
  dictionary: [...KEYS, ...WORDS, ': ', '- ', '{', '}', '[', ']', '"', '&a ', '*a', '<<: ', '\n', '  '],
  open: async () => ({
    check(bytes) {
      const old = bytes.toString('utf8')
      const { text, report } = migrateConfig([{ file: 'service.yaml', text: old }])
      // Mutations can take the password out of the address, and then nothing shows that it is one.
      const isSecret = !old.replaceAll(ADDRESS, '').includes(PASSWORD)
      if (isSecret && JSON.stringify(report).includes(PASSWORD)) throw new Error('a message shows a password')
      if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
      if (!report.integrity.ok) {
        if (report.problems.length === 0) throw new Error('the migration failed without a problem')
        return
      }
      const { problems } = checkConfig(text, { env: {} })
      if (problems.length > 0)
        throw new Error(`the report is ok, but the result is not valid: ${JSON.stringify(problems)}`)
      const again = migrateConfig(text).report.integrity
      const { policiesOut, mappingsOut, breakersOut } = report.integrity
      const isSame =
        again.ok &&
        again.policiesOut === policiesOut &&
        again.mappingsOut === mappingsOut &&
        again.breakersOut === breakersOut
      if (!isSame) throw new Error(`a second migration gives ${JSON.stringify(again)}`)
    },
    close: async () => {},
  }),
}
