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
