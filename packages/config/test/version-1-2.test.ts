import { describe, expect, it } from 'vitest'
import { checkConfig, parseConfigObject } from '../src/check/check.js'
import { jsonSchema } from '../src/schema/json-schema.js'
import { lines } from './read.js'

const check = (text: string, env = {}) => checkConfig(text, { file: 'hf.yaml', env })

const NEW_KEYS = `
errors: { max_age: 14d, max_entries: 5000 }
proxy: { connect_ports: [443, 8443], workers: 4, max_header_size: 32768 }
server: { header_timeout: 5, request_timeout: 30s, idle_timeout: 20, max_connections: 100 }
`

describe('a config file of version 1.2.0', () => {
  it('has the keys that were added to it, without a warning', () => {
    const { config, problems, warnings } = check(`version: "1.2.0"${NEW_KEYS}`)
    expect(lines(problems)).toEqual([])
    expect(lines(warnings)).toEqual([])
    expect(config).toEqual({
      version: '1.2.0',
      errors: { maxAge: 14 * 86_400_000, maxEntries: 5000 },
      proxy: { connectPorts: [443, 8443], workers: 4, maxHeaderSize: 32_768 },
      server: { headerTimeout: 5000, requestTimeout: 30_000, idleTimeout: 20_000, maxConnections: 100 },
    })
  })

  it('may be an object, whose version is 1.2.0 where it names none', () => {
    const config = { proxy: { connectPorts: [443], workers: 2 }, server: { headerTimeout: '5s' } }
    expect(parseConfigObject(config, {})).toEqual({
      version: '1.2.0',
      proxy: { connectPorts: [443], workers: 2 },
      server: { headerTimeout: 5000 },
    })
  })

  it('expected the new keys from the environment', () => {
    const env = { HOLDFAST_PROXY_CONNECT_PORTS: '443,8443', HOLDFAST_SERVER_MAX_CONNECTIONS: '7' }
    const { config } = check('version: "1.2.0"', env)
    expect(config?.proxy?.connectPorts).toEqual([443, 8443])
    expect(config?.server?.maxConnections).toBe(7)
  })

  it.each([
    ['errors: { max_entries: 0 }', 'expected a whole number from 1'],
    ['errors: { max_age: -1 }', 'expected a duration above 0'],
    ['proxy: { connect_ports: [0] }', 'expected a port, 1 to 65535'],
    ['proxy: { connect_ports: [70000] }', 'expected a port, 1 to 65535'],
    ['proxy: { workers: 0 }', 'expected a whole number from 1 to 256'],
    ['proxy: { max_header_size: 100 }', 'expected a whole number of bytes from 512 to 1048576'],
    ['server: { header_timeout: 0 }', 'expected a duration above 0, up to 24h'],
    ['server: { request_timeout: 2d }', 'expected a duration above 0, up to 24h'],
    ['server: { idle_timeout: .inf }', 'expected a duration above 0, up to 24h'],
    ['server: { max_connections: 1.5 }', 'expected a whole number from 1'],
  ])('rejects %s', (text, message) => {
    expect(lines(check(`version: "1.2.0"\n${text}`).problems).join('\n')).toContain(message)
  })
})

describe('the keys of version 1.2.0 in an older file', () => {
  const added = (kind: string) => `this ${kind} requires version 1.2.0; it is used anyway`
  const keys = [
    `errors: ${added('section')}`,
    ...['connect_ports', 'workers', 'max_header_size'].map((name) => `proxy.${name}: ${added('key')}`),
    ...['header_timeout', 'request_timeout', 'idle_timeout', 'max_connections'].map(
      (name) => `server.${name}: ${added('key')}`,
    ),
  ]

  it('are used with a warning each in a file of version 1.1.0', () => {
    const { config, warnings } = check(`version: "1.1.0"${NEW_KEYS}`)
    expect(config?.proxy?.workers).toBe(4)
    expect(lines(warnings).toSorted()).toEqual(keys.toSorted())
    expect(warnings.find(({ path }) => path === 'proxy.workers')).toMatchObject({ line: 3, column: 38 })
  })

  it('are used with a warning in a file of version 1.0.0, besides those for sections of 1.1.0', () => {
    const { config, warnings } = check(`version: "1.0.0"${NEW_KEYS}`)
    expect(config?.errors?.maxEntries).toBe(5000)
    const sections = ['proxy', 'server'].map(
      (name) => `${name}: this section requires version 1.1.0; it is used anyway`,
    )
    expect(lines(warnings).toSorted()).toEqual([...keys, ...sections].toSorted())
  })
})

describe('the schema for editors', () => {
  interface Node {
    properties: Record<string, Node>
    description?: string
    anyOf?: Node[]
  }
  const root = jsonSchema() as Node
  const describedAt = (...path: string[]): string | undefined => {
    const node = path.reduce<Node | undefined>((held, step) => held?.properties[step], root)
    return node?.description
  }

  it.each([
    ['sessions.max_age', 'Default 7 days'],
    ['sessions.max_entries', 'Default 1000000'],
    ['events.max_age', 'Default 7 days'],
    ['audit.max_age', 'Default 365 days'],
    ['errors.max_age', 'Default 14 days'],
    ['errors.max_entries', 'Default 1000000'],
    ['dead_letters.max_age', 'Default 30 days'],
    ['dead_letters.max_entries', 'Default 100000'],
    ['error_log.max_age', 'Default 14 days'],
    ['error_log.max_size', 'Default 10485760'],
    ['metrics.retention_hours', 'Default 24'],
    ['server.header_timeout', 'Default 10 seconds'],
    ['proxy.max_header_size', 'Default 65536'],
  ])('names the default of %s', (path, words) => {
    expect(describedAt(...path.split('.'))).toContain(words)
  })
})
