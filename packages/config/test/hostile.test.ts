import { expect, test } from 'vitest'
import { checkConfig, parseConfigObject } from '../src/check/check.js'
import { lines, refused, wrong } from './read.js'

const said = (text: string): string => lines(checkConfig(text, { env: {} }).problems).join('\n')

test.each([
  ['a text of more than 16 MiB', '#'.repeat(16 * 1024 * 1024 + 1), 'expected at most 16777216 characters'],
  ['brackets without end', '['.repeat(200_000), 'nested too deeply'],
  ['braces without end', '{a: '.repeat(100_000), 'nested too deeply'],
  ['lists in lists on one line', '- '.repeat(100_000), 'nested too deeply'],
  ['keys of keys', '? '.repeat(100_000), 'nested too deeply'],
  [
    'an ever deeper block',
    Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
    'nested too deeply',
  ],
  ['NUL', 'version: "1.1.0"\nstore: "mem\0ory"', 'U+0000'],
  ['a tab that indents', 'version: "1.1.0"\npolicies:\n\ta: {}', 'got a tab'],
  ['a key twice', 'version: "1.1.0"\nstore: memory\nstore: memory', 'got "store" twice'],
  ['several documents', 'version: "1.1.0"\n---\nversion: "1.1.0"', 'expected one document, got several'],
  ['an alias of nothing', 'version: *v', 'expected an alias of an existing anchor'],
  ['an unknown tag', 'version: !!js/function "1"', 'not valid YAML'],
  ['an end that is missing', 'version: "1.1.0', 'not valid YAML'],
  ['__proto__ as a section', 'version: "1.1.0"\n__proto__: { polluted: 1 }', 'unknown key of the config'],
  [
    '__proto__ as a name',
    'version: "1.1.0"\npolicies: { __proto__: { max_attempts: 1 } }',
    'expected another name',
  ],
  [
    'an alias within its anchor',
    'version: "1.1.0"\noverrides: &o { "Retry/delay": *o }',
    'circular references',
  ],
])('checkConfig reports %s', (_name, text, message) => {
  expect(said(text)).toContain(message)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('checkConfig rejects aliases that expand exponentially', () => {
  const levels = 'abcdefghij'.split('')
  const bomb = levels.map((name, i) => {
    const held =
      i === 0
        ? '[x, x, x, x, x, x, x, x, x, x]'
        : `[${Array(10)
            .fill(`*${levels[i - 1]}`)
            .join(', ')}]`
    return `${name}: &${name} ${held}`
  })
  expect(said(bomb.join('\n'))).toContain('expected aliases that expand to at most 100 nodes, got more')
})

test('a policy can have the name of a property of Object.prototype', () => {
  const { config } = checkConfig('version: "1.1.0"\npolicies: { constructor: { max_attempts: 2 } }', {
    env: {},
  })
  expect(Object.entries(config?.policies ?? {})).toEqual([['constructor', { maxAttempts: 2 }]])
  expect(wrong('subsystem_mappings: { a: { b: { default: toString } } }').join()).toContain(
    'expected the id of a policy',
  )
})

test('ten thousand policies are accepted', () => {
  const text = `version: "1.1.0"\npolicies:\n${Array.from({ length: 10_000 }, (_, i) => `  p${i}: {}`).join('\n')}`
  expect(Object.keys(checkConfig(text, { env: {} }).config?.policies ?? {})).toHaveLength(10_000)
})

test('no message contains a secret', () => {
  const text = `version: "1.1.0"
store: redis://me:hunter2@host
pools: { p: { members: [{ id: a, url: "ftp://me:hunter2@host" }] } }
alerts: { webhook: "hunter2", secret: \${KEY} }
dead_letters: { encryption_key: [hunter2] }
server: { port: \${KEY} }
shared: hunter2
overrides: { "Retry/delay": "\${KEY}" }
`
  const env = { KEY: 'hunter2', HOLDFAST_PROXY_PORT: 'hunter2', RETRY_JITTER: 'hunter2' }
  const { problems, config } = checkConfig(text, { env })
  expect(config).toBeUndefined()
  expect(lines(problems)).toHaveLength(9)
  expect(JSON.stringify(problems)).not.toContain('hunter2')
})

test('text that the YAML parser quotes is not in the message', () => {
  expect(said('version: "1.1.0"\nalerts: { secret: "a" hunter2 }\nserver: "x" hunter2')).not.toContain(
    'hunter2',
  )
})

test('values that are not objects, circular objects and throwing proxies are rejected with CONFIG_INVALID', () => {
  const circular: Record<string, unknown> = { version: '1.1.0' }
  circular.overrides = circular
  for (const given of [
    null,
    5,
    'text',
    [],
    circular,
    { policies: { a: { maxAttempts: () => 3 } } },
    { policies: new Map([['a', 1]]).keys },
  ])
    expect(refused(() => parseConfigObject(given, {})).code).toBe('CONFIG_INVALID')
})
