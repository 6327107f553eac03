import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serve } from '../src/serve/serve.js'
import { Running } from './cli/process.js'
import { CONFIG, World } from './cli/world.js'
import { failCall, open } from './fixture.js'

/** A text that clears a terminal, sets its title and adds a line, as an upstream server can put into an error. */
const HOSTILE = 'down\u001b[2J\u001b]0;evil\u0007\r\nadmin signed in\u009b31m'

/** The head of the answer to bytes, as it arrives. A client library could not send all of them. */
const headOf = (port: number, bytes: Buffer): Promise<string> =>
  new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket
      .setEncoding('latin1')
      .on('data', (text: string) => (received += text))
      .on('end', () => resolve(received.slice(0, received.indexOf('\r\n\r\n'))))
      .on('error', reject)
  })

describe('texts of upstream servers', () => {
  it('cannot control the terminal of the command', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
    await hf
      .run('save', () => Promise.reject(new Error(HOSTILE)), { payload: 1, itemId: HOSTILE })
      .catch(() => {})
    await hf.close()
    for (const command of [['errors'], ['sessions'], ['dead-letters', 'list']]) {
      const { out } = await world.run(command, { columns: 400 })
      expect(out).toContain('down')
      // oxlint-disable-next-line no-control-regex -- control characters are what this is about
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
      expect(out).not.toMatch(/^admin signed in/m)
    }
  })
})

describe('names and values from requests', () => {
  it.each([
    ['a name in the path', 'GET /api/v1/policies/a%0d%0aSet-Cookie:%20evil=1 HTTP/1.1\r\n'],
    ['an empty line in the path', 'GET /api/v1/policies/%0d%0a%0d%0a<script> HTTP/1.1\r\n'],
    ['a page of the dashboard', 'GET /%0d%0aSet-Cookie:%20evil=1 HTTP/1.1\r\n'],
    ['CR and LF in the path', 'GET /api/v1/policies/a\r\nSet-Cookie: evil=1 HTTP/1.1\r\n'],
    ['LF in the path', 'GET /api/v1/policies/a\nSet-Cookie: evil=1 HTTP/1.1\r\n'],
    ['CR in X-Request-Id', 'GET /api/v1/policies HTTP/1.1\r\nX-Request-Id: a\rSet-Cookie: evil=1\r\n'],
    ['LF in X-Request-Id', 'GET /api/v1/policies HTTP/1.1\r\nX-Request-Id: a\nSet-Cookie: evil=1\r\n'],
    ['a folded X-Request-Id', 'GET /api/v1/policies HTTP/1.1\r\nX-Request-Id: a\r\n Set-Cookie: evil=1\r\n'],
    [
      'an encoded X-Request-Id',
      'GET /api/v1/policies HTTP/1.1\r\nX-Request-Id: a%0d%0aSet-Cookie: evil=1\r\n',
    ],
    [
      'an X-Request-Id above ASCII',
      'GET /api/v1/policies HTTP/1.1\r\nX-Request-Id: \u010d\u010aSet-Cookie: evil=1\r\n',
    ],
  ])('cannot add a header to an answer: %s', async (_name, start) => {
    const { hf } = await open()
    const server = await serve(hf, { port: 0, dashboard: false })
    onTestFinished(() => server.close())
    const bytes = Buffer.from(`${start}Host: localhost\r\nConnection: close\r\n\r\n`)
    const head = await headOf(server.port, bytes)
    expect(head).toMatch(/^HTTP\/1\.1 [24]\d\d /)
    const [, ...fields] = head.split('\r\n')
    expect(fields.length).toBeGreaterThan(2)
    for (const field of fields) {
      expect(field).toMatch(/^[\w-]+: [^\r\n]*$/)
      expect(field).not.toMatch(/^set-cookie:/i)
    }
    const id = fields.find((field) => /^x-request-id:/i.test(field))
    expect(id?.slice('x-request-id: '.length)).toMatch(/^[0-9a-f-]{36}$/)
  })

  // The bodies are valid except for the attack, so that nothing else is the reason of a 400.
  it.each([
    ['PUT', '/api/v1/policies/quick', '"max_attempts":2'],
    ['PUT', '/api/v1/retry/policy', '"max_attempts":2'],
    ['POST', '/api/v1/dead-letters/replay', '"operation":"quick"'],
    ['POST', '/api/v1/request', '"url":"http://169.254.169.254/"'],
  ] as const)('cannot change the prototype of objects: %s %s', async (method, path, field) => {
    const { hf, ask } = await open()
    const send = (body: string) =>
      ask(method, path, { body, headers: { 'content-type': 'application/json' } })
    await failCall(hf, 'quick', {
      payload: JSON.parse('{"__proto__":{"polluted":1}}') as object,
      itemId: 'i',
    })
    const before = Object.getOwnPropertyNames(Object.prototype)
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      const answer = await send(`{"${key}":{"polluted":1,"prototype":{"polluted":1}},${field}}`)
      expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(key) } })
      expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
      expect(({} as { polluted?: number }).polluted).toBeUndefined()
    }
    expect((await send(`{${field}}`)).status).not.toBe(400)
  })

  it('cannot change the prototype of objects by a config that is validated', async () => {
    const { ask } = await open()
    const before = Object.getOwnPropertyNames(Object.prototype)
    const text = '{"version":"1.1.0","policies":{"__proto__":{"polluted":1}},"__proto__":{"polluted":1}}'
    const answer = await ask('POST', '/api/v1/config/validate', { body: text })
    expect(answer.body).toMatchObject({ valid: false })
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('the list of processes', () => {
  const SECRET = 'hft_secret-of-this-test'

  /** The processes whose arguments contain a text. */
  const processesWith = (text: string): string[] =>
    readdirSync('/proc').filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
      } catch {
        // The process has ended.
        return false
      }
    })

  it.runIf(process.platform === 'linux')(
    'shows no token from the environment while a command uses it',
    async () => {
      const world = new World()
      const server = createServer().listen(0, '127.0.0.1')
      onTestFinished(() => void server.close())
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const running = new Running(['breakers', '--url', url], world.dir, { HOLDFAST_TOKEN: SECRET })
      onTestFinished(() => void running.child.kill('SIGKILL'))
      const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
      expect(request.headers.authorization).toBe(`Bearer ${SECRET}`)
      expect(processesWith(url)).toEqual([String(running.child.pid)])
      expect(processesWith(SECRET)).toEqual([])
      response.end('{}')
      await running.ended
    },
  )

  it.runIf(process.platform === 'linux')(
    'shows no secret from the config file or the environment of a server',
    async () => {
      const pools = `pools:\n  p:\n    members:\n      - url: http://ann:${SECRET}-1@127.0.0.1:9\n      - id: other\n        url: \${MEMBER}\n`
      const world = new World({ 'holdfast.yaml': `version: "1.1.0"\n${pools}` })
      const env = { MEMBER: `http://bob:${SECRET}-2@127.0.0.1:9` }
      const running = new Running(['serve', '--port', '0'], world.dir, env)
      onTestFinished(() => void running.child.kill('SIGKILL'))
      await running.saying(/Ctrl-C/)
      expect(processesWith('serve\0--port\0')).toContain(String(running.child.pid))
      expect(processesWith(SECRET)).toEqual([])
    },
  )

  it('is named by the help of the one option that takes a secret, with the alternative', async () => {
    const { out } = await new World().run(['--help'])
    expect(out).toMatch(/--token <token>\s+[\s\S]{0,60}list of\s+processes[\s\S]{0,60}HOLDFAST_TOKEN/)
    const create = await new World().run(['token', 'create', '--help'])
    expect(create.out).not.toMatch(/--(secret|password|value)/)
  })
})
