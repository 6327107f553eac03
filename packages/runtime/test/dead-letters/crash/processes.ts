import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { compile } from '../compile.js'
import type { ChildTask } from './child.js'

/** Makes of the sources what Node runs by itself. Gives where it is. */
export const compileChild = (): Promise<string> =>
  compile('packages/runtime/test/dead-letters/crash/child.ts', 'dead-letters-crash')

/** Runs the child until it ends, or until `kill` says so of a line; gives the lines it had said by then. */
export async function runChild(
  program: string,
  task: ChildTask,
  kill: (line: string) => boolean,
): Promise<string[]> {
  const running = spawn(process.execPath, [program, JSON.stringify(task)], {
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
