// A process that starts a server, prints a line of JSON about it, and then waits to be killed.
//
//     node scripts/test/servers-child.mjs redis|postgres|browser|program|gate
import { fileURLToPath } from 'node:url'
import { root } from '../packages.mjs'

const PROGRAM = `console.log('ready'); setInterval(() => {}, 1000); process.on('SIGINT', () => {}).on('SIGTERM', () => {})`

/** @type {Record<string, () => Promise<object>>} */
const servers = {
  async redis() {
    const { findRedis, RedisServer } = await import('../servers/redis.mjs')
    const program = await findRedis(root)
    if (typeof program === 'string') throw new Error(program)
    return { pid: (await RedisServer.start(program)).pid }
  },
  async postgres() {
    const { PostgresServer } = await import('../servers/postgres.mjs')
    const server = await PostgresServer.start()
    // Stopped, as by a test of a server that hangs.
    await server.signal('SIGSTOP')
    return { pid: server.pid, folder: server.folder }
  },
  async browser() {
    const { launch } = await import('../../packages/dashboard/test/browser.mjs')
    const session = await (await launch()).newBrowserCDPSession()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    return { pid: processInfo.find(({ type }) => type === 'browser')?.id }
  },
  async program() {
    const { startServer } = await import('../servers/supervise.mjs')
    const { pid } = await startServer({
      name: 'a program',
      command: process.execPath,
      args: ['-e', PROGRAM],
      isReady: (output) => output.includes('ready'),
    })
    return { pid }
  },
  // A gate, a test worker in one of its steps, and a server of that worker.
  async gate() {
    const { runSteps } = await import('../gate/steps.mjs')
    const command = [process.execPath, fileURLToPath(import.meta.url), 'program']
    void runSteps([{ name: 'tests', command }], { onOutput: (text) => process.stdout.write(text) })
    return new Promise(() => {})
  },
}

const server = await servers[process.argv[2] ?? '']?.()
console.log(JSON.stringify(server))
setInterval(() => {}, 1000)
