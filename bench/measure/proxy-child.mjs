// One proxy in a process of its own: node proxy-child.mjs KIND UPSTREAM. It tells its port, and on request its memory and the time it had.
import { holdfastCommand, holdfastProxy, proxyChain } from '../libraries/proxies.mjs'
import { upstreamProxy } from './proxy-upstream.mjs'

const KINDS = {
  holdfast: holdfastProxy,
  command: holdfastCommand,
  'proxy-chain': proxyChain,
  upstream: upstreamProxy,
}

const [kind, upstream = ''] = process.argv.slice(2)
const port = await KINDS[/** @type {keyof typeof KINDS} */ (kind)](upstream)
process.on('message', (asked) => {
  if (asked === 'clean') globalThis.gc?.()
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed: heap } = process.memoryUsage()
  process.send?.({ rss, heap, cpu: user + system })
})
process.on('disconnect', () => process.exit())
process.send?.({ port })
