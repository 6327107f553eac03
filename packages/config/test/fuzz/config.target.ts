import fc from 'fast-check'
import { stringify } from 'yaml'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { checkConfig } from '../../src/check/check.js'
import type { Problem } from '../../src/problems/describe.js'
import { jsonSchema } from '../../src/schema/json-schema.js'

/** The value of a variable, which must be in no message. */
const SECRET = 'Zq7-secret-of-the-environment'
const ENV = { SECRET, NUMBER: '3', PORT: '8080', A: 'a', EMPTY: '' }

/** A case that uses more processor time is as bad as one that hangs. */
const MAX_CPU_MS = 5000

/** The texts of YAML and JSON, and values that programs handle wrongly. */
const SYNTAX = [
  '\n',
  '  ',
  '\t',
  ': ',
  '- ',
  '? ',
  '{',
  '}',
  '[',
  ']',
  ',',
  '&a ',
  '*a',
  '<<: ',
  '!!set ',
  '!!binary ',
  '!x ',
  '|\n',
  '>-\n',
  '#',
  '"',
  "'",
  '\\',
  '%YAML 1.1\n',
  '---\n',
  '...\n',
  '\0',
  '\xc3\xa4',
  '\xed\xa0\x80',
  '\xef\xbb\xbf',
  '${',
  '${A}',
  '${A:-1}',
  '${SECRET}',
  '${NUMBER}',
  '${EMPTY:?x}',
  '.inf',
  '.nan',
  '-.inf',
  '1e999',
  '-1',
  '0x1F',
  '0o7',
  '1_000',
  'null',
  '~',
  'true',
  'Infinity',
  '99999999999999999999',
  '"1.0.0"',
  '2.0.0',
  '['.repeat(500),
  '- '.repeat(500),
  '{a: '.repeat(500),
]

const UNSAFE_NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', ' ', 'a.b', '${A}']

/** Every name of a field in a JSON schema. */
function namesIn(schema: unknown, found = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return found
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const name of Object.keys(value as object)) found.add(name)
    namesIn(value, found)
  }
  return found
}

const FIELDS = [...namesIn(jsonSchema())]

const scalar = fc.oneof(
  fc.constantFrom(
    '500ms',
    '30s',
    'full',
    'a',
    'sqlite:./x.db',
    'http://u:p@h:1',
    '${SECRET}',
    '${NUMBER}',
    'x'.repeat(5000),
  ),
  fc.constantFrom<unknown>(0, 1, 3, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, null, true, false),
  fc.string({ maxLength: 12 }),
  fc.integer(),
)
const name = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...FIELDS) },
  { weight: 2, arbitrary: fc.constantFrom('a', 'b', 'p1', 'default') },
  { weight: 1, arbitrary: fc.constantFrom(...UNSAFE_NAMES) },
)
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
    fc.array(tie('tree'), { maxLength: 3 }),
  ),
}))

const sections = fc.dictionary(
  fc.constantFrom(...Object.keys((jsonSchema() as { properties: object }).properties)),
  tree,
  {
    maxKeys: 5,
  },
)

const documents = fc
  .tuple(sections, fc.constantFrom('1.1.0', '1.0.0', '1.2.0', 2, null), fc.boolean())
  .map(([fields, version, isJson]) => {
    const value = { version, ...fields }
    return Buffer.from(isJson ? JSON.stringify(value) : stringify(value))
  })

const fragments = fc
  .array(fc.oneof(fc.constantFrom(...SYNTAX), name), { maxLength: 40 })
  .map((words) => Buffer.from(words.join(''), 'latin1'))

const isLocated = ({ line = 0, column = 0, message }: Problem): boolean =>
  line > 0 && column > 0 && message !== ''

/** The text of a config: every text gives a config or located problems, without values of variables. */
export const target: FuzzTarget = {
  name: 'config',
  cases: fc.oneof(documents, fragments),
  dictionary: [...SYNTAX, ...UNSAFE_NAMES, ...FIELDS],
  open: async () => ({
    check(bytes) {
      const text = bytes.toString('utf8')
      const before = process.cpuUsage()
      const { config, problems, warnings } = checkConfig(text, { env: ENV })
      const { user, system } = process.cpuUsage(before)
      if (user + system > MAX_CPU_MS * 1000) throw new Error('checking used too much processor time')
      if ((config === undefined) === (problems.length === 0))
        throw new Error('expected a config or problems, got both or none')
      const unlocated = problems.find((problem) => !isLocated(problem))
      if (unlocated !== undefined)
        throw new Error(`a problem without a line and column: ${JSON.stringify(unlocated)}`)
      if (JSON.stringify([problems, warnings]).includes(SECRET))
        throw new Error('a message shows the value of a variable')
      if (Object.hasOwn(Object.prototype, 'polluted')) throw new Error('the prototype of objects was changed')
      if (Object.keys(Object.prototype).length > 0) throw new Error('the prototype of objects has new keys')
    },
    close: async () => {},
  }),
}
