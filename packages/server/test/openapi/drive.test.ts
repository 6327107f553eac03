import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createToken } from '../../src/auth/tokens.js'
import type { AppOptions } from '../../src/options.js'
import { type Asked, type Fixture, failCall, open } from '../fixture.js'
import { anything, type Schemas, valuesOf } from './arbitrary.js'
import { checker, type Document, type Listed, operationsOf, type Parameter } from './document.js'

interface Parts {
  path: Record<string, string>
  query: Record<string, unknown>
  header: Record<string, string | undefined>
  body: unknown
}

/** Ids that are there, so that not every request is about nothing. */
const KNOWN: Record<string, string[]> = {
  '/policies': ['quick', 'mapped', 'default'],
  '/circuit-breakers': ['policy:guarded', 'service:notion', 'pool:proxies:p1'],
  '/pools': ['proxies'],
}

function pathValues({ path, operation }: Listed, all: Schemas): fc.Arbitrary<Record<string, string>> {
  const known = Object.entries(KNOWN).find(([prefix]) => path.startsWith(`/api/v1${prefix}`))?.[1] ?? ['x']
  const own = (operation.parameters ?? []).filter((one) => one.in === 'path')
  return fc.record(
    Object.fromEntries(
      own.map(({ name, schema }) => [
        name,
        fc.oneof(
          fc.constantFrom(...(name === 'member' ? ['p1', 'p2'] : known)),
          // These are no names in an address, but steps.
          (valuesOf(schema, all) as fc.Arbitrary<string>).filter((text) => text !== '.' && text !== '..'),
        ),
      ]),
    ),
  )
}

const valuesFor = (parameters: Parameter[], all: Schemas) =>
  fc.record(Object.fromEntries(parameters.map(({ name, schema }) => [name, valuesOf(schema, all)])), {
    requiredKeys: parameters.filter(({ required }) => required).map(({ name }) => name),
  })

const HEADER = fc.constantFrom('*', '"x"', 'evt_1_0000', '"a", W/"b"')

function valid(listed: Listed, all: Schemas): fc.Arbitrary<Parts> {
  const { operation } = listed
  const parameters = operation.parameters ?? []
  const schema = operation.requestBody?.content['application/json']?.schema
  return fc.record({
    path: pathValues(listed, all),
    query: valuesFor(
      parameters.filter((one) => one.in === 'query' && one.name !== 'cursor'),
      all,
    ),
    header: fc.record(
      Object.fromEntries(parameters.filter((one) => one.in === 'header').map(({ name }) => [name, HEADER])),
      { requiredKeys: [] },
    ),
    body: schema === undefined ? fc.constant(undefined) : valuesOf(schema, all),
  })
}

const invalid = (listed: Listed, all: Schemas): fc.Arbitrary<Parts> =>
  fc.record({
    path: pathValues(listed, all),
    query: fc.oneof(
      fc.constant({ bogus: '1' }),
      fc.dictionary(
        fc.constantFrom('limit', 'hours', 'cursor', 'from', 'state', 'type', 'active'),
        fc.string(),
      ),
    ),
    header: fc.constant({}),
    body: listed.operation.requestBody === undefined ? fc.constant(undefined) : anything,
  })

async function send({ ask }: Fixture, { method, path }: Listed, parts: Parts): Promise<Asked> {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(parts.query))
    for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one))
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(parts.path[name] as string),
  )
  const query = search.size === 0 ? '' : `?${search}`
  const { body } = parts
  const json = body === undefined ? {} : { body: JSON.stringify(body) }
  return ask(method.toUpperCase(), filled + query, {
    ...json,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(parts.header as Record<string, string>),
    },
  })
}

/** The answer has a status that the document lists for the operation, and a body of the form it gives there. */
function demandListed(
  { operation }: Listed,
  { status, headers, body }: Asked,
  check: ReturnType<typeof checker>,
) {
  const listed = operation.responses[String(status)]
  expect(listed, `${operation.operationId} answered ${status}: ${JSON.stringify(body)}`).toBeDefined()
  const [type, content] = Object.entries(listed?.content ?? {})[0] ?? []
  if (type === undefined) return expect(body).toBe('')
  expect(headers.get('content-type')).toContain(type)
  if (type === 'application/json' && content !== undefined)
    expect(check(content.schema, body)).toBeUndefined()
}

async function filled(options: AppOptions = {}): Promise<Fixture & { document: Document }> {
  const fixture = await open(options)
  const { hf, ask } = fixture
  hf.deadLetters.handle('quick', () => 'replayed')
  for (let i = 0; i < 5; i++)
    await failCall(hf, 'quick', { payload: { i }, itemId: `item ${i}`, context: { i } })
  for (let i = 0; i < 3; i++) await failCall(hf, 'guarded', { context: { token: 'hunter2' } })
  // With a token, because the first one that an operation creates would be required from then on.
  const { token } = await createToken(hf, { name: 'driver', role: 'admin' })
  await createToken(hf, { name: 'grafana', role: 'viewer' })
  await createToken(hf, { name: 'wall', role: 'viewer' })
  const authorized: Fixture['ask'] = (method, path, given = {}) =>
    ask(method, path, { ...given, headers: { authorization: `Bearer ${token}`, ...given.headers } })
  return { ...fixture, ask: authorized, document: (await ask('GET', '/openapi.json')).body as Document }
}

/** The stream does not end, so that its answer cannot be read to the end. */
const driven = (document: Document) =>
  operationsOf(document).filter(({ operation }) => operation.operationId !== 'streamEvents')

/** For each operation a request that succeeds. */
async function successes({ hf }: Fixture): Promise<Record<string, Partial<Parts>>> {
  const first = (await hf.deadLetters.list()).items.map(({ dlqId }) => dlqId)
  const session = (await hf.sessions.list()).items[0]?.sessionId ?? ''
  const group = (await hf.errors.groups()).items[0]?.groupId ?? ''
  const edited = await hf.deadLetters.enqueue({
    operation: 'kept',
    itemId: '1',
    payload: 1,
    error: new Error('down'),
  })
  const none = { query: {}, header: {} }
  return {
    getPolicy: { path: { id: 'quick' } },
    putPolicy: {
      path: { id: 'quick' },
      body: { max_attempts: 4, base_delay: 0.5, bulkhead: { limit: 2, queue: 0 } },
    },
    putDefaultPolicy: { body: { max_attempts: 5, jitter: true, timeout: 30 } },
    deletePolicy: { path: { id: 'quick' } },
    getCircuitBreaker: { path: { id: 'pool:proxies:p1' } },
    tripCircuitBreaker: { path: { id: 'policy:guarded' }, body: { reason: 'maintenance' } },
    resetCircuitBreaker: { path: { id: 'policy:guarded' } },
    getSession: { path: { id: session } },
    cancelSession: { path: { id: session } },
    getDeadLetter: { path: { id: first[0] ?? '' } },
    editDeadLetterPayload: { path: { id: edited.dlqId }, body: { payload: { i: 7 } } },
    replayDeadLetter: { path: { id: first[0] ?? '' }, body: {} },
    purgeDeadLetters: { body: { operation: 'nothing' } },
    getErrorGroup: { path: { id: group } },
    diffConfigVersions: { ...none, query: { to: 0 } },
    deleteDeadLetter: { path: { id: first[1] ?? '' } },
    replayDeadLetters: { body: { operation: 'quick', concurrency: 2 } },
    getJob: { path: { id: 'JOB' } },
    cancelJob: { path: { id: 'JOB' } },
    listPoolMembers: { path: { id: 'proxies' } },
    addPoolMember: {
      path: { id: 'proxies' },
      body: { url: 'socks5://ann:hunter2@10.1.1.1:1080', region: 'us', weight: 3 },
    },
    changePoolMember: { path: { id: 'proxies', member: 'p2' }, body: { draining: true, weight: 5 } },
    removePoolMember: { path: { id: 'proxies', member: 'p2' } },
    sendRequest: { body: { url: 'TARGET', headers: { 'X-A': 'b' } } },
    explainConfig: { ...none, query: { operation: 'browser.save' } },
    rollbackConfig: { body: { version: 1, reason: 'it was better' } },
    validateConfig: { body: { version: '1.1.0' } },
    signIn: { body: { keep: true } },
    createToken: { body: { name: 'new', role: 'operator', reason: 'a new colleague' } },
    revokeToken: { path: { name: 'grafana' } },
    revokeTokenByName: { query: { name: 'wall' } },
  }
}

/** The order that matters: what is deleted is read before. */
const LAST = ['deletePolicy', 'removePoolMember', 'deleteDeadLetter', 'clearConfig']

describe('every operation of the document', () => {
  test('succeeds with an example of its schema', async () => {
    const target = createServer((_, answer) => answer.end('hello'))
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
    const fixture = await filled({ allowPrivateTargets: true })
    const check = checker(fixture.document)
    const requests = await successes(fixture)
    const { port } = target.address() as AddressInfo
    const job = (await fixture.ask('POST', '/api/v1/dead-letters/replay', { body: { operation: 'nothing' } }))
      .body.job_id
    const order = ({ operation }: Listed) => LAST.indexOf(operation.operationId)
    for (const listed of driven(fixture.document).toSorted((a, b) => order(a) - order(b))) {
      const parts = {
        path: {},
        query: {},
        header: {},
        body: undefined,
        ...requests[listed.operation.operationId],
      }
      const text = JSON.stringify(parts).replace('TARGET', `http://127.0.0.1:${port}/`).replace('JOB', job)
      const answer = await send(fixture, listed, { body: undefined, ...JSON.parse(text) })
      expect(answer.status, `${listed.operation.operationId}: ${JSON.stringify(answer.body)}`).toBeLessThan(
        300,
      )
      demandListed(listed, answer, check)
      expect(JSON.stringify(answer.body)).not.toContain('hunter2')
    }
    target.close()
  })

  test('responds to valid requests as documented', async () => {
    const fixture = await filled()
    const check = checker(fixture.document)
    const all = fixture.document.components.schemas
    for (const listed of driven(fixture.document)) {
      const property = fc.asyncProperty(valid(listed, all), async (parts) => {
        const answer = await send(fixture, listed, parts)
        demandListed(listed, answer, check)
        expect(JSON.stringify(answer.body)).not.toContain('hunter2')
      })
      await fc.assert(property, { numRuns: 30 })
    }
  })

  test('responds to invalid requests as documented', async () => {
    const fixture = await filled()
    const check = checker(fixture.document)
    const all = fixture.document.components.schemas
    for (const listed of driven(fixture.document)) {
      const property = fc.asyncProperty(invalid(listed, all), async (parts) => {
        const answer = await send(fixture, listed, parts)
        demandListed(listed, answer, check)
        expect(answer.status).not.toBe(500)
      })
      await fc.assert(property, { numRuns: 30 })
    }
  })
})
