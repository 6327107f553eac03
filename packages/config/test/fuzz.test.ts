import { seededRandom } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { checkConfig } from '../src/check/check.js'
import { fixture } from './read.js'

/** Small whole files, each with other parts of the language and of the schema. */
const SEEDS = [
  fixture('consolidated.yaml').split('\n').slice(0, 20).join('\n'),
  'version: "1.1.0"\nglobal_defaults: { jitter_type: full, base_delay: 500ms }\npolicies:\n  a: &a { max_attempts: .inf, total_timeout: 30s }\n  b: { <<: *a, hedge: { delay: 1 } }\n',
  '{"version": "1.1.0", "policies": {"a": {"max_attempts": 3, "retry_status_codes": [503]}}, "store": "memory"}',
  'version: "1.1.0"\npools:\n  p:\n    strategy: score\n    members:\n      - { id: a, url: "http://u:p@127.0.0.1:1", weight: 2 }\n      - id: b\n        url: socks5://127.0.0.1:2\nserver: { port: ${PORT:-80} }\n',
  'version: "1.1.0"\nsubsystem_mappings: { s: { o: { timeout: "?x", default: rate_limited } } }\noverrides: { "A/b/Retry/maxRetries": 5, "Retry/enabled": true }\nredact: { patterns: ["a+b"] }\n',
]

/** What is thrown in: words of the schema, signs of YAML, and what programs choke on. */
const BITS = [
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
  '\u{1F600}',
  '\ud800',
  '\ufeff',
  '__proto__',
  'constructor',
  'toString',
  '${',
  '${A}',
  '${A:-1}',
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
  'policies',
  'max_attempts',
  'version',
  'members',
  'default',
  '2.0.0',
  '"1.0.0"',
  '['.repeat(500),
  '- '.repeat(500),
  '{a: '.repeat(500),
]

const RUNS = 10_000

// The time is for a machine that is busy with other tests: alone it takes a few seconds.
test(`${RUNS} damaged files each give a config or an error`, { timeout: 300_000 }, () => {
  const seed = Number(process.env.FUZZ_SEED ?? 20_260_129)
  const random = seededRandom(seed)
  const pick = (most: number) => Math.floor(random() * most)
  let [taken, refused] = [0, 0]
  for (let run = 0; run < RUNS; run++) {
    let text = SEEDS[pick(SEEDS.length)] as string
    for (let change = pick(4) + (run % 10 === 0 ? 0 : 1); change > 0; change--) {
      const [at, end] = [pick(text.length + 1), pick(text.length + 1)]
      const way = pick(4)
      if (way === 0) text = text.slice(0, at) + BITS[pick(BITS.length)] + text.slice(at)
      else if (way === 1) text = text.slice(0, Math.min(at, end)) + text.slice(Math.min(at, end) + pick(12))
      else if (way === 2)
        text = text.slice(0, at) + text.slice(Math.min(at, end), Math.min(at, end) + 40) + text.slice(at)
      else text = text.slice(0, at) + BITS[pick(BITS.length)] + text.slice(at + pick(8))
    }
    try {
      const { config, problems } = checkConfig(text, { env: {} })
      if (config === undefined) refused++
      else taken++
      const placed = problems.every(
        ({ line = 0, column = 0, message }) => line > 0 && column > 0 && message !== '',
      )
      if (!placed || (config === undefined) === (problems.length === 0))
        throw new Error('an answer that is none')
    } catch (error) {
      throw new Error(`seed ${seed}, run ${run}: ${JSON.stringify(text)}`, { cause: error })
    }
  }
  // Both ends are met, or the mutations say nothing.
  expect(taken).toBeGreaterThan(RUNS / 20)
  expect(refused).toBeGreaterThan(RUNS / 5)
  expect(Object.keys(Object.prototype)).toEqual([])
})
