import { expect, test } from 'vitest'
import { checkConfig, parseConfig, parseConfigObject } from '../src/check/check.js'
import { check, lines, refused, wrong } from './read.js'

test.each([
  'proxy: { users: hunter2SECRET }',
  'proxy: { users: ["ann:hunter2SECRET"] }',
  'proxy: { users: [{ name: ann, password: [hunter2SECRET] }] }',
  'proxy: { users: [{ "ann:hunter2SECRET": x }] }',
  'proxy: { users: [{ name: ann, passwrd: hunter2SECRET }] }',
  'proxy: hunter2SECRET',
  'alerts: hunter2SECRET',
  'dead_letters: hunter2SECRET',
  'pools: { p: { members: ["http://ann:hunter2SECRET@host"] } }',
  'pools: { p: { policy: "http://ann:hunter2SECRET@host" } }',
  'pools: { p: { policy: "http://ann:hunter2SECRET/a@host" } }',
  'pools: { p: { policy: "https://host/?code=hunter2SECRET" } }',
  'pools: { "http://ann:hunter2SECRET@host": { strategy: no } }',
  'policies: { "http://ann:hunter2SECRET@host": { max_attempts: 0 } }',
  'policies: { "https://a-rather-long-name-of-an-account:hunter2SECRET-and-much-more-than-sixty@host": { id: b } }',
  'subsystem_mappings: { a: { b: { default: "http://ann:hunter2SECRET@host" } } }',
  'proxy: { pool: "http://ann:hunter2SECRET@host" }',
  'policies: { a: { circuit_breaker: "http://ann:hunter2SECRET@host" } }',
  'policies: { a: { id: "http://ann:hunter2SECRET@host" } }',
  'pools: { p: { members: [{ id: "http://a:hunter2SECRET@h", url: "http://a" }, { id: "http://a:hunter2SECRET@h", url: "http://b" }] } }',
  '"http://ann:hunter2SECRET@host": 1',
])('no problem shows the secret in %s', (body) => {
  const { problems } = check(body)
  expect(problems.length).toBeGreaterThan(0)
  expect(JSON.stringify(problems)).not.toMatch(/hunter2/)
  const { message, details } = refused(() => parseConfig(`version: "1.1.0"\n${body}`, { env: {} }))
  expect(JSON.stringify([message, details])).not.toMatch(/hunter2/)
})

test('a shortened value shows no part of its credentials', () => {
  const long = `http://ann:${'hunter2'.repeat(100_000)}@host`
  expect(wrong(`pools: { p: { policy: "${long}" } }`)).toEqual([
    'pools.p.policy: expected the id of a policy, got "http://***"',
  ])
  expect(wrong(`policies: { "${'://a:'.repeat(100_000)}": { max_attempts: 0 } }`)).toHaveLength(1)
})

test('a number in a secret field is not shown', () => {
  expect(wrong('proxy: { users: [{ name: ann, password: 12345678 }] }')).toEqual([
    'proxy.users[0].password: expected a text that is not empty, got a value that is not shown',
  ])
  expect(wrong('proxy: { users: [12345678] }').join()).not.toContain('12345678')
})

const KEY = 'a'.repeat(64)

test.each([
  ['short', 'hunter2', 'got another text (key 1)'],
  ['the second of two', `${KEY}, hunter2`, 'got another text (key 2)'],
  [
    'twice the same',
    `one:${KEY},one:${'b'.repeat(64)}`,
    'expected a unique id, got one, the id of another key (key 2)',
  ],
  ['nothing but blanks', '  ', 'got no key'],
  ['nothing but commas', ' , ', 'got no key'],
])('an encryption key that is %s is rejected with its position and not shown', (_, key, message) => {
  const { problems, config } = check(`dead_letters:\n  encryption_key: "${key}"`)
  expect(config).toBeUndefined()
  expect(problems).toMatchObject([{ path: 'dead_letters.encryption_key', line: 3, column: 19 }])
  expect(problems[0]?.message).toContain(message)
  expect(JSON.stringify(problems)).not.toMatch(/hunter2|aaaa|bbbb/)
})

test('a valid encryption key is accepted, and a wrong one from the environment is reported under its variable', () => {
  expect(wrong(`dead_letters: { encryption_key: "${KEY}, old:${'b'.repeat(64)}" }`)).toEqual([])
  const env = { HOLDFAST_DEAD_LETTERS_ENCRYPTION_KEY: 'hunter2' }
  expect(lines(checkConfig('version: "1.1.0"', { env }).problems)).toEqual([
    expect.stringMatching(
      /^HOLDFAST_DEAD_LETTERS_ENCRYPTION_KEY: expected 32 bytes .*, got another text \(key 1\)$/,
    ),
  ])
  const given = { deadLetters: { encryptionKey: 'hunter2' } }
  expect(refused(() => parseConfigObject(given, {})).message).toContain(
    'deadLetters.encryptionKey: expected 32 bytes',
  )
})

test.each([
  ['{ url: "http://h:1" }', '{ url: "http://u:hunter2@h:1/x" }', 'h:1'],
  ['{ url: "http://h" }', '{ url: "http://h:80" }', 'h'],
  ['{ id: "h:1", url: "http://a" }', '{ url: "http://h:1" }', 'h:1'],
])('members %s and %s of one pool are rejected as duplicates', (one, two, id) => {
  const { problems } = check(
    `pools:\n  p:\n    members:\n      - ${one}\n      - { id: x, url: "http://x" }\n      - ${two}`,
  )
  expect(problems).toMatchObject([{ path: 'pools.p.members[2].url', line: 7 }])
  expect(problems[0]?.message).toBe(
    `expected a unique id, got ${JSON.stringify(id)} (its host, because it has no id), which is also the id of pools.p.members[0] (line 5)`,
  )
  expect(JSON.stringify(problems)).not.toContain('hunter2')
})

test('two members with one id are reported with both positions', () => {
  const body =
    'pools:\n  p:\n    members:\n      - { id: a, url: "http://a" }\n      - { id: a, url: "http://b" }'
  expect(check(body).problems).toEqual([
    {
      path: 'pools.p.members[1].id',
      line: 6,
      column: 15,
      message: 'expected a unique id, got "a", which is also the id of pools.p.members[0] (line 5)',
    },
  ])
})

test('members of different pools can have the same host', () => {
  expect(
    wrong('pools: { p: { members: [{ url: "http://a" }] }, q: { members: [{ url: "http://a" }] } }'),
  ).toEqual([])
})
