import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { connect } from 'node:net'
import { ProxyAgent, request as requestThrough } from 'undici'
import { onTestFinished } from 'vitest'
import { type ProxyOptions, type ProxyServer, startProxy } from '../../src/index.js'

/** A proxy on a port of its own that may go to this machine, until the test ends. */
export async function proxyFor(options: ProxyOptions = {}): Promise<ProxyServer> {
  const proxy = await startProxy({ port: 0, allowPrivateTargets: true, ...options })
  onTestFinished(() => proxy.close({ timeout: 1 }))
  return proxy
}

export interface Got {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

interface Asked {
  readonly method?: string
  readonly body?: string
  readonly headers?: Record<string, string>
}

/** Asks in absolute form, as a client of an HTTP proxy does. */
export function ask(proxy: { port: number }, url: string, asked: Asked = {}): Promise<Got> {
  const { method = 'GET', body, headers = {} } = asked
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: proxy.port,
        path: url,
        method,
        headers: { host: new URL(url).host, ...headers },
        agent: false,
      },
      (got) => {
        const chunks: Buffer[] = []
        got.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
        got.on('end', () =>
          resolve({
            status: got.statusCode ?? 0,
            headers: got.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    sent.on('error', reject).end(body)
  })
}

/** Asks through a tunnel, with undici's own client of proxies. */
export async function askThroughTunnel(
  proxy: ProxyServer,
  url: string,
  token?: string,
): Promise<{ status: number; body: string }> {
  const agent = new ProxyAgent({ uri: proxy.url, ...(token === undefined ? {} : { token }) })
  try {
    const got = await requestThrough(url, { dispatcher: agent })
    return { status: got.statusCode, body: await got.body.text() }
  } finally {
    await agent.destroy()
  }
}

/** Sends bytes and gives what came back until the proxy closed the connection, or `until` is seen. */
export function raw(proxy: { port: number }, bytes: string | Buffer, until?: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    const done = (): void => {
      socket.destroy()
      resolve(got)
    }
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1')
      if (until !== undefined && got.includes(until)) done()
    })
    socket.on('error', done).on('close', done)
    socket.write(bytes)
  })
}

/** The value of Proxy-Authorization for a name and a password. */
export const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`

/** Runs curl, which has to be there; gives what it printed. */
export function curl(...args: string[]): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile('curl', ['-sS', '--max-time', '150', ...args], (error, stdout, stderr) =>
      error ? reject(new Error(stderr || error.message)) : resolve(stdout),
    ),
  )
}
