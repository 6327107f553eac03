import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { ChildTask } from './child.js'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../../../../..')
const child = join(root, '.cache/dead-letters-crash/child.mjs')

/** Makes of the sources what Node runs by itself. */
export async function compileChild(): Promise<void> {
  await build({
    entryPoints: [join(here, 'child.ts')],
    outfile: child,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
    plugins: [
      {
        name: 'sources',
        setup: (bundler) =>
          bundler.onResolve({ filter: /^holdfast(\/|$)/ }, ({ path }) => ({
            path: join(root, 'packages/core/src', path.slice('holdfast'.length), 'index.ts'),
          })),
      },
    ],
  })
}

/** Runs the child until it ends, or until `kill` says so of a line; gives the lines it had said by then. */
export async function runChild(task: ChildTask, kill: (line: string) => boolean): Promise<string[]> {
  const running = spawn(process.execPath, [child, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  let complaints = ''
  running.stderr.on('data', (data: Buffer) => (complaints += data.toString()))
  const reading = (async () => {
    for await (const line of createInterface({ input: running.stdout })) {
      lines.push(line)
      if (kill(line)) running.kill('SIGKILL')
    }
  })()
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    running.once('close', (...how) => resolve(how)),
  )
  await reading
  if (signal !== 'SIGKILL' && code !== 0) throw new Error(`the child ended with ${code}: ${complaints}`)
  return lines
}

/** A service that honours idempotency keys: it holds a thing once for each key, however often it is told. */
export async function startTarget() {
  const held = new Map<string, number>()
  let requests = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (data: Buffer) => (body += data.toString()))
    request.on('end', () => {
      requests++
      const key = String(request.headers['idempotency-key'])
      const { item } = JSON.parse(body) as { item: number }
      if (!held.has(key)) held.set(key, item)
      response.end('held')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    held,
    requests: () => requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
