import { beforeEach, describe, expect, test } from 'vitest'
import { open } from '../fixture.js'
import { type Document, type Listed, operationsOf } from './document.js'

let document: Document
let operations: Listed[]

beforeEach(async () => {
  const { ask } = await open()
  document = (await ask('GET', '/openapi.json')).body as Document
  operations = operationsOf(document)
})

/** Everything in the document, with the way that leads to it. */
function* walk(
  value: unknown,
  path: string[] = [],
): Iterable<{ value: Record<string, unknown>; path: string[] }> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { value: value as Record<string, unknown>, path }
  for (const [key, held] of Object.entries(value)) yield* walk(held, [...path, key])
}

describe('the OpenAPI document', () => {
  test('has a title, a licence and a server', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toMatchObject({
      title: 'Holdfast',
      version: expect.any(String),
      license: { name: 'MIT' },
    })
    expect(document.servers).toHaveLength(1)
  })

  test('has every route of the API', () => {
    const routes = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    expect(routes.toSorted()).toMatchInlineSnapshot(`
      [
        "DELETE /api/v1/access/session",
        "DELETE /api/v1/dead-letters/{id}",
        "DELETE /api/v1/policies/{id}",
        "DELETE /api/v1/pools/{id}/members/{member}",
        "DELETE /api/v1/tokens",
        "DELETE /api/v1/tokens/{name}",
        "GET /api/v1/access",
        "GET /api/v1/audit",
        "GET /api/v1/circuit-breakers",
        "GET /api/v1/circuit-breakers/metrics",
        "GET /api/v1/circuit-breakers/{id}",
        "GET /api/v1/config",
        "GET /api/v1/config/diff",
        "GET /api/v1/config/explain",
        "GET /api/v1/config/history",
        "GET /api/v1/dead-letters",
        "GET /api/v1/dead-letters/count",
        "GET /api/v1/dead-letters/stats",
        "GET /api/v1/dead-letters/{id}",
        "GET /api/v1/errors",
        "GET /api/v1/errors/groups",
        "GET /api/v1/errors/groups/{id}",
        "GET /api/v1/events",
        "GET /api/v1/jobs",
        "GET /api/v1/jobs/{id}",
        "GET /api/v1/metrics/operations",
        "GET /api/v1/metrics/retries",
        "GET /api/v1/metrics/retries/by-proxy",
        "GET /api/v1/metrics/retries/timeseries",
        "GET /api/v1/metrics/window",
        "GET /api/v1/nodes",
        "GET /api/v1/policies",
        "GET /api/v1/policies/{id}",
        "GET /api/v1/pools",
        "GET /api/v1/pools/{id}/members",
        "GET /api/v1/retry/policy",
        "GET /api/v1/sessions",
        "GET /api/v1/sessions/{id}",
        "GET /api/v1/tokens",
        "GET /health",
        "GET /health/live",
        "GET /health/ready",
        "GET /metrics",
        "PATCH /api/v1/pools/{id}/members/{member}",
        "POST /api/v1/access/session",
        "POST /api/v1/circuit-breakers/{id}/reset",
        "POST /api/v1/circuit-breakers/{id}/trip",
        "POST /api/v1/config/clear",
        "POST /api/v1/config/reload",
        "POST /api/v1/config/rollback",
        "POST /api/v1/config/validate",
        "POST /api/v1/dead-letters/purge",
        "POST /api/v1/dead-letters/replay",
        "POST /api/v1/dead-letters/{id}/replay",
        "POST /api/v1/jobs/{id}/cancel",
        "POST /api/v1/pools/{id}/members",
        "POST /api/v1/request",
        "POST /api/v1/sessions/{id}/cancel",
        "POST /api/v1/tokens",
        "PUT /api/v1/dead-letters/{id}/payload",
        "PUT /api/v1/policies/{id}",
        "PUT /api/v1/retry/policy",
      ]
    `)
  })

  test('has a unique camelCase id, a summary, a description and a described tag for each operation', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = document.tags.map(({ name }) => name)
    for (const { operation } of operations) {
      expect(operation.operationId).toMatch(/^[a-z][A-Za-z]+$/)
      expect(operation.summary).toMatch(/^[A-Z].*[^.]$/)
      expect(operation.description).toMatch(/\.$/)
      expect(operation.tags).toHaveLength(1)
      expect(tags).toContain(operation.tags[0])
    }
    for (const tag of tags) expect(operations.some(({ operation }) => operation.tags[0] === tag)).toBe(true)
  })

  test('has the role and the security scheme of each operation', () => {
    expect(document.components.securitySchemes).toHaveProperty('bearer')
    for (const { path, operation } of operations) {
      expect(operation.security).toBeDefined()
      if (path.startsWith('/api/')) expect(['viewer', 'operator', 'admin']).toContain(operation['x-role'])
    }
  })

  test('declares each path parameter once', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const parameters = operation.parameters ?? []
      const declared = parameters.filter((one) => one.in === 'path')
      expect(new Set(declared.map(({ name }) => name))).toEqual(new Set(inPath))
      expect(declared).toHaveLength(inPath.length)
      expect(declared.every(({ required }) => required)).toBe(true)
      const keys = parameters.map((one) => `${one.in} ${one.name}`)
      expect(new Set(keys).size).toBe(keys.length)
    }
  })

  test('has a success response and JSON errors with descriptions for each operation', () => {
    for (const { path, operation } of operations) {
      const statuses = Object.keys(operation.responses)
      expect(statuses.some((status) => status.startsWith('2'))).toBe(true)
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        expect(description).not.toBe('')
        if (path.startsWith('/api/') && Number(status) >= 400)
          expect(content?.['application/json']?.schema.$ref).toBe('#/components/schemas/Error')
      }
    }
  })

  test('has no body for methods without one', () => {
    for (const { method, operation } of operations)
      if (['get', 'delete'].includes(method)) expect(operation.requestBody).toBeUndefined()
  })

  test('has no broken references and no unused schemas', () => {
    const used = new Set<string>()
    for (const { value } of walk(document)) if (typeof value['$ref'] === 'string') used.add(value['$ref'])
    const names = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
    expect([...used].filter((ref) => !names.includes(ref))).toEqual([])
    expect(names.filter((name) => !used.has(name))).toEqual([])
  })

  test('has valid OpenAPI 3.1 schemas: no nullable, null as a type, arrays with items', () => {
    for (const { value, path } of walk(document)) {
      const at = path.join('/')
      expect(value, at).not.toHaveProperty('nullable')
      if (Array.isArray(value['enum']) && value['enum'].includes(null))
        expect(value['type'], at).toContain('null')
      if (value['type'] === 'array') expect(value, at).toHaveProperty('items')
      if (Array.isArray(value['required']) && typeof value['properties'] === 'object')
        for (const key of value['required']) expect(value['properties'], at).toHaveProperty(key as string)
    }
  })
})
