import { Holdfast } from '@holdfast/runtime'
import fc from 'fast-check'
import { fakeClock, seededRandom } from 'holdfast/testing'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { createApp } from '../../src/app/app.js'
import { createToken } from '../../src/auth/tokens.js'
import { CONFIG, failCall } from '../fixture.js'
import { anything, type Schema, type Schemas, valuesOf } from '../openapi/arbitrary.js'
import { checker, type Document, type Listed, operationsOf } from '../openapi/document.js'
import { pathPattern } from './path-pattern.js'

/** A password of the config and of a recorded context, which no answer and no log can contain. */
const SECRET = 'hunter2'

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']

const WORDS = [
  '..',
  '.',
  '%00',
  '%',
  '%2e%2e%2f',
  'null',
  '1e400',
  '__proto__',
  'constructor',
  'a'.repeat(3000),
  '%F0%9F%98%80',
  '[]',
  'quick',
  'policy:guarded',
  'proxies',
  'p1',
  'policy:%67uarded',
]
const word = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('quick', 'policy:guarded', 'proxies', 'p1', 'p2') },
  fc.string({ maxLength: 20 }).map((text) => encodeURIComponent(text)),
  fc.constantFrom(...WORDS),
)

const HEADERS = [
  'content-type',
  'if-match',
  'if-none-match',
  'x-reason',
  'x-request-id',
  'last-event-id',
  'accept',
  'origin',
  'content-length',
  'sec-fetch-site',
  'authorization',
  'cookie',
  'x-http-method-override',
]
const header = fc
  .tuple(
    fc.constantFrom(...HEADERS),
    fc.oneof(
      fc.stringMatching(/^[ -~]{0,40}$/),
      fc.constantFrom(
        'application/json',
        'application/json; charset=x',
        'application/yaml',
        '*',
        '-1',
        'null',
        'Bearer x',
        '"x"',
      ),
    ),
  )
  .map(([name, value]) => `${name}: ${value}`)

const QUERY = [
  'limit',
  'cursor',
  'hours',
  'from',
  'to',
  'type',
  'operation',
  'state',
  'active',
  'order',
  'x',
  '__proto__',
]
const query = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  fc
    .array(fc.tuple(fc.constantFrom(...QUERY), word), { maxLength: 3 })
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`)),
)

const BODIES = [
  '{',
  '[[[[[[',
  '['.repeat(20_000),
  '{"a":1e999}',
  '{"__proto__":{"polluted":true}}',
  '\xef\xbb\xbf{}',
  '"',
  'version: "1.1.0"\na: &a [*a]',
]

interface Api {
  readonly hf: Holdfast
  readonly app: ReturnType<typeof createApp>
  readonly document: Document
  readonly logged: string[]
  readonly clock: ReturnType<typeof fakeClock>
  /** Of an administrator: without one, the first token that a case creates would be required from then on. */
  readonly token: string
}

/** A runtime with one failed call, and its API. */
async function openApi(): Promise<Api> {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const hf = await Holdfast.open({ config: CONFIG, clock, random: seededRandom(1), env: {}, watch: false })
  await failCall(hf, 'quick', { payload: { a: 1 }, itemId: 'i', context: { password: SECRET } })
  const logged: string[] = []
  const logger = { error: (fields: unknown) => void logged.push(JSON.stringify(fields)) }
  const app = createApp(hf, { clock, dashboard: false, logger, maxReaders: 1 } as Parameters<
    typeof createApp
  >[1])
  const document = (await (await app.request('http://localhost/openapi.json')).json()) as Document
  const { token } = await createToken(hf, { name: 'fuzz', role: 'admin' })
  return { hf, app, clock, document, logged, token }
}

/** The operations of the document, for the generator. It is the same in every process. */
const document = await openApi().then(async ({ hf, app, document }) => {
  await app.close()
  await hf.close()
  return document
})
const operations = operationsOf(document)
const schemas: Schemas = document.components.schemas

const bodyOf = ({ operation }: Listed): fc.Arbitrary<string> => {
  const schema: Schema | undefined = operation.requestBody?.content['application/json']?.schema
  const valid = (schema === undefined ? anything : valuesOf(schema, schemas)).map((value) =>
    JSON.stringify(value),
  )
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    anything.map((value) => JSON.stringify(value)),
    fc.constantFrom(...BODIES),
  )
}

const request = fc.constantFrom(...operations).chain((listed) =>
  fc
    .tuple(
      fc.oneof(
        { weight: 4, arbitrary: fc.constant(listed.method.toUpperCase()) },
        fc.constantFrom(...METHODS),
      ),
      fc.array(word, { minLength: 3, maxLength: 3 }),
      fc.oneof({ weight: 12, arbitrary: fc.constant('') }, fc.constantFrom('/', '/x', '//')),
      query,
      fc.array(header, { maxLength: 2 }),
      fc.boolean(),
      bodyOf(listed),
    )
    .map(([method, words, suffix, search, headers, isJson, body]) => {
      let i = 0
      const path = listed.path.replaceAll(/\{\w+\}/g, () => words[i++] as string)
      const type = isJson ? ['content-type: application/json'] : []
      return `${method} ${path}${suffix}${search}\n${[...type, ...headers].map((line) => `${line}\n`).join('')}\n${body}`
    }),
)

/** A request from the text of a case: method, path, lines with headers, an empty line, the body. Undefined if a client could not send it. */
function requestOf(text: string, token: string): Request | undefined {
  const [head = '', ...rest] = text.split('\n\n')
  const [line = '', ...lines] = head.split('\n')
  const [method = '', ...path] = line.split(' ')
  try {
    const headers = new Headers(
      lines.map(
        (one) => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 1)] as [string, string],
      ),
    )
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`)
    const hasBody = method !== 'GET' && method !== 'HEAD' && rest.length > 0
    return new Request(new URL(`http://localhost${path.join(' ')}`), {
      method,
      headers,
      ...(hasBody ? { body: Buffer.from(rest.join('\n\n'), 'latin1') } : {}),
    })
  } catch {
    return undefined
  }
}

/** Requests to the REST API: no 500, answers as in the OpenAPI document, and no secret in answers and logs. */
export const target: FuzzTarget = {
  name: 'rest',
  cases: request.map((text) => Buffer.from(text, 'latin1')),
  dictionary: [
    ...METHODS.map((method) => `${method} `),
    ...WORDS,
    ...HEADERS.map((name) => `\n${name}: `),
    ...QUERY.map((name) => `&${name}=`),
    ...BODIES,
    '\n\n',
    '"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
  ],
  // Requests change policies, tokens and pools.
  reopenEvery: 2000,
  async open() {
    const { hf, app, clock, document, logged, token } = await openApi()
    let successes = 0
    let cases = 0
    const check = checker(document)
    const routes = operationsOf(document).map((listed) => ({ ...listed, pattern: pathPattern(listed.path) }))
    return {
      async check(bytes) {
        const made = requestOf(bytes.toString('latin1'), token)
        if (made === undefined) return false
        cases++
        const { method } = made
        const { pathname } = new URL(made.url)
        const answer = await app.fetch(made)
        if (answer.ok) successes++
        // Wrong tokens of earlier cases block the address for a minute.
        if (answer.status === 429) await clock.advance(60_000)
        if (answer.status === 500) throw new Error(`the status 500: ${await answer.text()}`)
        if (answer.headers.get('x-request-id') === null) throw new Error('an answer without X-Request-Id')
        if (answer.headers.get('content-type') === 'text/event-stream') {
          await answer.body?.cancel()
          const headers = { authorization: `Bearer ${token}` }
          const next = await app.request('http://localhost/api/v1/events', { headers })
          if (next.status === 429 && (await next.text()).includes('readers of the event stream'))
            throw new Error(`the reader of a ${method} request is still open`)
          await next.body?.cancel()
          return
        }
        const said = await answer.text()
        if (said.includes(SECRET)) throw new Error('an answer contains a secret')
        if (logged.length > 0) throw new Error(`logged an error: ${logged.join()}`)
        if (Object.hasOwn(Object.prototype, 'polluted'))
          throw new Error('the prototype of objects was changed')
        if (method === 'HEAD') return
        if (answer.status >= 400 && !Object.hasOwn(JSON.parse(said) as object, 'error'))
          throw new Error('an error without the field error')
        const route = routes.find((one) => one.method.toUpperCase() === method && one.pattern.test(pathname))
        if (route === undefined) return
        const listed = route.operation.responses[String(answer.status)]
        if (listed === undefined)
          throw new Error(
            `${route.operation.operationId} answered ${answer.status}, which is not documented: ${said.slice(0, 300)}`,
          )
        const [type, content] = Object.entries(listed.content ?? {})[0] ?? []
        if (type !== 'application/json' || content === undefined) return
        const problem = check(content.schema, JSON.parse(said))
        if (problem !== undefined)
          throw new Error(`${route.operation.operationId} does not match its schema: ${problem}`)
      },
      async close() {
        await app.close()
        await hf.close()
        if (cases > 500 && successes < cases / 20)
          throw new Error(`only ${successes} of ${cases} requests succeeded`)
      },
    }
  },
}
