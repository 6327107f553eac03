import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { serve } from '../../src/serve/serve.js'
import { World } from './world.js'

const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

const CONFIG = `version: "1.1.0"
store: memory
policies: { default: { max_attempts: 2, backoff_type: immediate } }
proxy: { allow_private_targets: true }
`

async function target(): Promise<string> {
  const server = createServer((_, res) => res.end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describe('request', () => {
  it('works with a memory store', async () => {
    const url = await target()
    const { code, out, err } = await new World({ 'holdfast.yaml': CONFIG }).run(['request', url])
    expect([code, out]).toEqual([EXIT_CODES.ok, 'hello'])
    expect(err).toMatch(/success +200/)
  })

  it('shows the attempts of a request without a response', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const { code, out, err } = await world.run(['request', 'http://127.0.0.1:1/'])
    expect([code, out]).toEqual([EXIT_CODES.failure, ''])
    expect(err).toMatch(
      /ATTEMPT +DELAY[^]*\n1 [^]*failure[^]*ECONNREFUSED[^]*\n2 [^]*\nholdfast: the request failed/,
    )
    const { err: said } = await world.run(['request', 'http://127.0.0.1:1/', '--json'])
    expect(JSON.parse(said).details).toMatchObject([{ attempt_number: 1 }, { attempt_number: 2 }])
  })

  it.each(['notaurl', 'ftp://example.com/', '/path', 'example.com'])('rejects %s as a URL', async (url) => {
    const { code, err } = await new World({ 'holdfast.yaml': CONFIG }).run(['request', url])
    expect(code).toBe(EXIT_CODES.usage)
    expect(err).toMatch(/^holdfast: URL: expected an absolute http or https URL/)
    expect(err).not.toContain('body')
  })

  it.each([
    [['http://ann:hunter2@127.0.0.1:1/'], 'URL: expected a URL without credentials'],
    [['http://127.0.0.1:1/', '-X', 'CONNECT'], '--method: expected one of'],
    [['http://127.0.0.1:1/', '-H', 'host: x'], '--header host: expected an end-to-end header'],
    [['http://127.0.0.1:1/', '-X', 'GET', '-d', 'x'], '--data: expected no body with GET'],
  ])('reports the invalid argument of %j', async (argv, words) => {
    const { code, err } = await new World({ 'holdfast.yaml': CONFIG }).run(['request', ...argv])
    expect(code).toBe(EXIT_CODES.usage)
    expect(err).toContain(`holdfast: ${words}`)
    expect(err).not.toContain('hunter2')
  })
})

it.each(['http://127.0.0.1:1/', 'http://localhost:1/', 'http://[::1]:1/', 'http://localhost.:1/'])(
  'request to %s names the option that allows it',
  async (url) => {
    const world = new World({ 'holdfast.yaml': 'version: "1.1.0"\nstore: memory\n' })
    const { code, err } = await world.run(['request', url])
    expect(code).toBe(EXIT_CODES.failure)
    expect(err).toContain('proxy.allow_private_targets: true')
    expect(err).toContain(
      'to allow private targets, add proxy: { allow_private_targets: true } to the config file',
    )
  },
)

const openssl = ['/usr/bin/openssl', '/usr/local/bin/openssl'].find(existsSync)

describe('a server with a certificate of its own', () => {
  it.skipIf(openssl === undefined)('is not trusted, and the command explains how to trust it', async () => {
    const world = new World()
    const [cert, key] = [world.path('cert.pem'), world.path('key.pem')]
    const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ${key} -out ${cert} -days 1 -subj /CN=localhost`
    execFileSync(openssl as string, words.split(' '), { stdio: 'ignore' })
    const hf = await Holdfast.open({ config: { version: '1.1.0' }, env: {}, watch: false })
    const server = await serve(hf, { port: 0, dashboard: false, tls: { cert, key } })
    opened.push(
      () => hf.close(),
      () => server.close(),
    )
    const { code, err } = await world.run(['policies', '--url', server.url])
    expect(code).toBe(EXIT_CODES.unreachable)
    expect(err).toContain('certificate')
    expect(err).toContain('NODE_EXTRA_CA_CERTS')
    expect(err).not.toContain('cannot connect to')
  })
})

const MKFIFO = 'mkfifo'

describe('serve', () => {
  it('explains that a memory store keeps no tokens', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG.replace(/proxy.*\n/, '') })
    const { code, err } = await world.run(['serve', '--host', '0.0.0.0', '--port', '0'])
    expect(code).not.toBe(EXIT_CODES.ok)
    expect(err).toMatch(/kept in the store.*sqlite:.*files:.*token create/)
  })

  it.each(['serve', 'proxy'])('%s rejects a file that can be read only once', async (command) => {
    const world = new World()
    execFileSync(MKFIFO, [world.path('pipe.yaml')])
    for (const file of ['/dev/null', 'pipe.yaml']) {
      const { code, err } = await world.run([command, '--config', file])
      expect(code).toBe(EXIT_CODES.config)
      expect(err).toContain(`expected a regular file, got ${file}`)
    }
  })
})
