// Every example in the documents and doc comments: type-checked, and run against the built packages.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Example, findExamples } from '../scripts/docs/extract.mjs'
import { writeModule } from '../scripts/docs/run.mjs'
import { typeErrors } from '../scripts/docs/typecheck.mjs'
import { root } from '../scripts/packages.mjs'
import { findRedis, RedisServer } from '../scripts/servers/redis.mjs'

// Within the repository, so that package names resolve; one for each run, so that two can run at once.
mkdirSync(join(root, '.cache'), { recursive: true })
const folder = mkdtempSync(join(root, '.cache/docs-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** The READMEs and the home page send requests to this origin. Here a local server answers them: 503, 503, 200, for each path. */
const ORIGIN = 'https://api.example.com'
const READMES = /^((packages\/\w+\/)?README|docs\/index)\.md$/

const requests = new Map<string, number>()
const service = createServer(({ url = '/' }, response) => {
  const count = (requests.get(url) ?? 0) + 1
  requests.set(url, count)
  if (count % 3 !== 0) response.writeHead(503).end()
  else response.end(JSON.stringify({ id: Number(url.split('/').at(-1)) }))
})
beforeAll(() => new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve)))
afterAll(() => service.close())

const withService = (example: Example): Example => {
  const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  return READMES.test(example.file) ? { ...example, code: example.code.replaceAll(ORIGIN, origin) } : example
}

/** Examples with this address run with a real Redis, where one can be had. */
const REDIS_ADDRESS = "redis://127.0.0.1:6379'"
const usesRedis = ({ code, run }: Example) => run && code.includes(REDIS_ADDRESS)

const redisProgram = await findRedis(root)
const missingRedis = typeof redisProgram === 'string' ? redisProgram : undefined
let redis: RedisServer | undefined
beforeAll(async () => {
  if (typeof redisProgram !== 'string') redis = await RedisServer.start(redisProgram)
})
afterAll(() => redis?.kill())

const withRedis = (example: Example): Example =>
  usesRedis(example)
    ? { ...example, code: example.code.replaceAll(REDIS_ADDRESS, `${redis?.url}'`) }
    : example

const examples = findExamples(root)
const problems = typeErrors(root, examples)

for (const example of examples) {
  test(`${example.file}:${example.line}${example.run ? '' : ' (not run)'}`, async (context) => {
    const wrong = problems.get(example)
    if (wrong !== undefined) throw new TypeError(wrong.join('\n'))
    if (usesRedis(example) && missingRedis !== undefined) context.skip(missingRedis)
    if (example.run) await import(writeModule(folder, withRedis(withService(example))))
  })
}

test('there are examples, and those of README.md retry real requests', () => {
  expect(examples.length).toBeGreaterThan(0)
  expect(requests.get('/orders/42')).toBe(3)
  expect(requests.get('/orders/43')).toBe(3)
})
