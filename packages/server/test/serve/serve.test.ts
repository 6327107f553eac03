import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as requestSecure } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast } from '@holdfast/runtime'
import type { OptionProblem } from 'holdfast/internal'
import { afterEach, describe, expect, test } from 'vitest'
import { createToken } from '../../src/auth/tokens.js'
import type { ServeOptions } from '../../src/serve/options.js'
import { type RunningServer, serve } from '../../src/serve/serve.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function runtime(config: object = {}): Promise<Holdfast> {
  const hf = await Holdfast.open({ config: { version: '1.1.0', ...config }, env: {}, watch: false })
  closers.push(() => hf.close())
  return hf
}

async function start(options: ServeOptions = {}, hf?: Holdfast): Promise<RunningServer> {
  const server = await serve(hf ?? (await runtime()), { port: 0, ...options })
  closers.push(() => server.close())
  return server
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-serve-'))
  closers.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** What comes back for bytes. */
const raw = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let said = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket
      .on('data', (data) => (said += data))
      .on('end', () => resolve(said))
      .on('error', reject)
  })

describe('a server', () => {
  test('responds on a free port with a request id and security headers', async () => {
    const { url, port } = await start()
    expect(url).toBe(`http://127.0.0.1:${port}`)
    const answer = await fetch(`${url}/api/v1/policies`, { headers: { 'x-request-id': 'mine-1' } })
    expect(answer.status).toBe(200)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-request-id': 'mine-1',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
    })
    const other = await fetch(`${url}/health/live`, { headers: { 'x-request-id': 'no good <id>' } })
    expect(other.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('uses the address of the config file', async () => {
    const server = await serve(await runtime({ server: { host: 'localhost', port: 0 } }))
    closers.push(() => server.close())
    expect(server.host).toBe('localhost')
  })

  test('rejects a port that is already in use', async () => {
    const { port } = await start()
    const error = await serve(await runtime(), { port }).catch((e: unknown) => e)
    expect(error).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringMatching(`${port}.*already in use`),
      cause: { code: 'EADDRINUSE' },
    })
  })

  test.each(['0.0.0.0', '::', '10.0.0.1'])(
    'does not start on %s without a token, and explains how to create one',
    async (host) => {
      const error = await serve(await runtime(), { host, port: 0 }).catch((e: unknown) => e)
      expect(error).toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('holdfast token create'),
      })
    },
  )

  test('starts on a public address with a token, which is then required', async () => {
    const hf = await runtime()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const { port } = await start({ host: '0.0.0.0' }, hf)
    const path = `http://127.0.0.1:${port}/api/v1/policies`
    expect((await fetch(path)).status).toBe(401)
    expect((await fetch(path, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
  })

  test('lists all problems of its options', async () => {
    const hf = await runtime()
    const options = { port: 70_000, maxBody: 1, headerTimeout: 0, tls: {}, colour: 'red' }
    const error = await serve(hf, options as unknown as ServeOptions).catch((e: unknown) => e)
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS' })
    expect((error as { problems: OptionProblem[] }).problems).toMatchObject([
      { path: 'port', code: 'invalid', expected: 'a whole number from 0 to 65535', got: '70000' },
      { path: 'maxBody', code: 'invalid', expected: 'a whole number from 1024', got: '1' },
      { path: 'headerTimeout', code: 'invalid', got: '0' },
      { path: 'tls', code: 'invalid', expected: 'an object with the files cert and key' },
      { path: 'colour', code: 'unknown' },
    ])
  })

  test('accepts bodies up to a limit, with and without a length', async () => {
    const { url } = await start({ maxBody: 1024 })
    const post = (body: string | ReadableStream) =>
      fetch(`${url}/api/v1/config/validate`, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect((await post('a'.repeat(1024))).status).toBe(200)
    const large = await post('a'.repeat(1025))
    expect(large.status).toBe(413)
    expect(await large.json()).toMatchObject({ error: 'PAYLOAD_TOO_LARGE' })
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(600))
      },
    })
    const answer = await post(stream).catch(() => undefined)
    expect(answer?.status ?? 413).toBe(413)
  })

  test.each([
    ['DELETE', '/api/v1/policies', 'GET, HEAD'],
    ['PUT', '/api/v1/circuit-breakers/x', 'GET, HEAD'],
    ['GET', '/api/v1/request', 'POST'],
    ['POST', '/health/live', 'GET, HEAD'],
    ['OPTIONS', '/api/v1/policies/x', 'GET, HEAD, PUT, DELETE'],
  ])('answers %s %s with 405 and what is allowed', async (method, path, allow) => {
    const { url } = await start()
    const answer = await fetch(url + path, { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
    expect(await answer.json()).toMatchObject({ error: 'METHOD_NOT_ALLOWED' })
  })

  test.each(['/nothing', '/api/v1', '/api/v1/nothing', '/api/v2/policies', '/api/v1/policies/a/b'])(
    'knows nothing at %s',
    async (path) => {
      const { url } = await start({ dashboard: false })
      const answer = await fetch(url + path)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ error: 'NOT_FOUND' })
    },
  )

  test('survives requests that are not HTTP', async () => {
    const { port, url } = await start()
    for (const text of [
      'GET / HTTP/1.1\r\nConnection: close\r\n\r\n',
      'GET /api/v1/policies HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
      'GET //\\evil/../.. HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      'POST /api/v1/config/validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'nonsense\r\n\r\n',
      'GET http://evil.example/api/v1/policies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    ])
      expect(await raw(port, text)).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
  })

  test('sends events to a reader of the stream and ends the stream when it closes', async () => {
    const hf = await runtime({ policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } } })
    const server = await start({}, hf)
    const answer = await fetch(`${server.url}/api/v1/events`)
    const reader = (answer.body as ReadableStream<BufferSource>)
      .pipeThrough(new TextDecoderStream())
      .getReader()
    await hf.run('quick', () => Promise.reject(new Error('down'))).catch(() => undefined)
    let said = ''
    while (!said.includes('retry_failure')) said += (await reader.read()).value
    await server.close()
    for (;;) if ((await reader.read()).done) break
    await expect(fetch(`${server.url}/health/live`)).rejects.toThrow()
    await server.close()
  })

  test.each(['/healthz', '/ready', '/readyz', '/live', '/livez', '/health/nothing', '/health/'])(
    'says at %s that health is elsewhere, whether there is a dashboard or not',
    async (path) => {
      const dir = folder()
      writeFileSync(join(dir, 'index.html'), '<!doctype html><title>Holdfast</title>')
      for (const dashboard of [dir, false] as const) {
        const { url } = await start({ dashboard })
        const answer = await fetch(url + path)
        expect(answer.status).toBe(404)
        expect(await answer.json()).toMatchObject({
          error: 'NOT_FOUND',
          message: expect.stringContaining('/health/ready'),
        })
      }
    },
  )

  test('reports its status at /health', async () => {
    const hf = await runtime()
    const { url } = await start({}, hf)
    const answer = await fetch(`${url}/health`)
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
    await hf.close()
    const closed = await fetch(`${url}/health`)
    expect([closed.status, await closed.json()]).toEqual([503, { status: 'closed' }])
  })

  test('is not ready after its runtime was closed', async () => {
    const hf = await runtime()
    const { url } = await start({}, hf)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    await hf.close()
    const answer = await fetch(`${url}/health/ready`)
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ status: 'closed' })
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
  })
})

const openssl = ['/usr/bin/openssl', '/usr/local/bin/openssl'].find(existsSync)

describe('TLS', () => {
  test.skipIf(openssl === undefined)('is configured by files', async () => {
    const dir = folder()
    const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
    const args = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      key,
      '-out',
      cert,
      '-days',
      '1',
      '-subj',
      '/CN=localhost',
    ]
    execFileSync(openssl as string, args, { stdio: 'ignore' })
    const { url } = await start({ tls: { cert, key } })
    expect(url).toMatch(/^https:/)
    const headers = await new Promise<Record<string, unknown>>((resolve, reject) =>
      requestSecure(`${url}/health/live`, { rejectUnauthorized: false }, (answer) => resolve(answer.headers))
        .on('error', reject)
        .end(),
    )
    expect(headers['strict-transport-security']).toBe('max-age=31536000')
    // A client without TLS gets no answer, and in particular no data.
    const answer = await raw(
      Number(new URL(url).port),
      'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n',
    ).catch(() => '')
    expect(answer).not.toMatch(/^HTTP\/1\.1 2/)
  })

  test('reports which file cannot be read or does not match', async () => {
    const dir = folder()
    const file = join(dir, 'x.pem')
    const missing = await serve(await runtime(), { port: 0, tls: { cert: file, key: file } }).catch(
      (e: unknown) => e,
    )
    expect(missing).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining(file) })
    writeFileSync(file, 'no certificate')
    await expect(serve(await runtime(), { port: 0, tls: { cert: file, key: file } })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('tls'),
    })
  })
})

describe('the dashboard', () => {
  function built(): string {
    const dir = folder()
    mkdirSync(join(dir, 'assets'))
    writeFileSync(join(dir, 'index.html'), '<!doctype html><title>Holdfast</title>')
    writeFileSync(join(dir, 'assets', 'app-1.js'), 'console.log(1)')
    writeFileSync(join(dir, '..', 'outside.txt'), 'secret')
    closers.push(() => rmSync(join(dir, '..', 'outside.txt'), { force: true }))
    return dir
  }

  test('is served at the root and at each page, without inline script', async () => {
    const { url } = await start({ dashboard: built() })
    for (const path of ['/', '/breakers', '/sessions/abc']) {
      const answer = await fetch(url + path)
      expect(answer.status).toBe(200)
      expect(await answer.text()).toContain('<title>Holdfast</title>')
      const policy = answer.headers.get('content-security-policy')
      expect(policy).toContain("script-src 'self'")
      expect(policy).not.toContain('unsafe')
    }
    const script = await fetch(`${url}/assets/app-1.js`)
    expect(script.headers.get('content-type')).toContain('text/javascript')
    expect(script.headers.get('cache-control')).toContain('immutable')
  })

  test('cannot be framed by another site', async () => {
    const { url } = await start({ dashboard: built() })
    for (const path of [
      '/',
      '/breakers',
      '/assets/app-1.js',
      '/api/v1/policies',
      '/missing.js',
      '/api/v1/nothing',
    ]) {
      const { headers } = await fetch(url + path)
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    }
  })

  test('is compressed for clients that accept gzip', async () => {
    const { url } = await start({ dashboard: built() })
    const packed = await fetch(`${url}/assets/app-1.js`, { headers: { 'accept-encoding': 'gzip, br' } })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(packed.headers.get('vary')).toContain('accept-encoding')
    expect(await packed.text()).toBe('console.log(1)')
    const plain = await fetch(`${url}/assets/app-1.js`, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.text()).toBe('console.log(1)')
  })

  test('serves only its own files', async () => {
    const { port, url } = await start({ dashboard: built() })
    for (const path of [
      '/../outside.txt',
      '/%2e%2e/outside.txt',
      '/assets/../../outside.txt',
      '/..%2foutside.txt',
      '/assets/%00.js',
      '/missing.js',
    ])
      expect(await raw(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)).toMatch(
        /^HTTP\/1\.1 40[04] /,
      )
    expect((await fetch(`${url}/api/v1/nothing`)).status).toBe(404)
  })
})

describe('the API reference page', () => {
  test('lists every operation without a script', async () => {
    const { url } = await start()
    const answer = await fetch(`${url}/docs`)
    const page = await answer.text()
    expect(answer.headers.get('content-type')).toContain('text/html')
    expect(page).not.toMatch(/<script|style=|https?:\/\/(?!opensource)/)
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object }
    for (const path of Object.keys(paths)) expect(page).toContain(path)
    expect((await fetch(`${url}/docs.css`)).headers.get('content-type')).toContain('text/css')
  })
})
