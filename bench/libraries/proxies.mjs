import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Forward proxies with one upstream proxy, on a port of their own.
 *
 * @param {string} upstream
 * @returns {Promise<number>} the port
 */
export async function holdfastProxy(upstream) {
  const { proxyPool, startProxy } = await import('@holdfast/proxy')
  const pool = proxyPool({ id: 'proxies', members: [upstream] })
  const { port } = await startProxy({ pool, port: 0, allowPrivateTargets: true })
  return port
}

/**
 * The same as the command starts it, with the policies, records and metrics of a runtime.
 *
 * @param {string} upstream
 * @returns {Promise<number>} the port
 */
export async function holdfastCommand(upstream) {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  const config = join(dir, 'holdfast.yaml')
  const port = await freePort()
  await writeFile(
    config,
    `version: "1.1.0"\nproxy: { port: ${port}, pool: proxies, allow_private_targets: true }\n` +
      `pools: { proxies: { members: [{ id: one, url: "${upstream}" }] } }\n`,
  )
  process.chdir(dir)
  const command = createRequire(import.meta.url)
    .resolve('@holdfast/server')
    .replace(/index\.js$/, 'cli/main.js')
  process.argv.splice(1, process.argv.length, command, 'proxy', '--config', config)
  void import(command)
  while (!(await isOpen(port))) await new Promise((resolve) => setTimeout(resolve, 50))
  return port
}

/** @returns {Promise<number>} */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  server.close()
  return port
}

/** @param {number} port @returns {Promise<boolean>} */
const isOpen = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(socket.destroy() !== undefined)).on('error', () => resolve(false))
  })

/**
 * @param {string} upstream
 * @returns {Promise<number>} the port
 */
export async function proxyChain(upstream) {
  const { Server } = await import('proxy-chain')
  const server = new Server({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: () => ({ upstreamProxyUrl: upstream }),
  })
  await server.listen()
  return server.port
}
