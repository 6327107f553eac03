import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { root } from '../packages.mjs'
import { findServerUser, makeReachable, PostgresServer } from '../servers/postgres.mjs'
import { findRedis, RedisServer } from '../servers/redis.mjs'
import { startServer } from '../servers/supervise.mjs'

const CHILD = fileURLToPath(new URL('servers-child.mjs', import.meta.url))

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Starts a process that starts a server; both are there when this resolves. */
async function startChild(kind: string) {
  const child = spawn(process.execPath, [CHILD, kind], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line') as Promise<string[]>,
    once(child, 'exit').then(() => Promise.reject(new Error('the child ended before its server was ready'))),
  ])
  const { pid, folder } = JSON.parse(line ?? '') as { pid: number; folder?: string }
  expect(isRunning(pid)).toBe(true)
  return { child, pid, folder }
}

const isGone = (pid: number) => expect.poll(() => isRunning(pid)).toBe(false)

const redis = await findRedis(root)
if (typeof redis === 'string') console.warn(`tests with a real Redis are SKIPPED: ${redis}`)

describe('a server', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'ends when the process that started it ends by %s',
    async (signal) => {
      const { child, pid } = await startChild('program')
      child.kill(signal)
      await isGone(pid)
    },
  )

  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'of a test worker ends when the gate ends by %s',
    async (signal) => {
      const { child, pid } = await startChild('gate')
      child.kill(signal)
      await isGone(pid)
    },
  )

  it.skipIf(typeof redis === 'string')('ends when its process is killed: Redis', async () => {
    const { child, pid } = await startChild('redis')
    child.kill('SIGKILL')
    await isGone(pid)
  })

  it('ends with its folder when its process is killed, even while it is stopped: PostgreSQL', async () => {
    const { child, pid, folder = '' } = await startChild('postgres')
    expect(existsSync(folder)).toBe(true)
    child.kill('SIGKILL')
    await isGone(pid)
    await expect.poll(() => existsSync(folder)).toBe(false)
  })

  it('ends when its process is killed: the browser', async () => {
    const { child, pid } = await startChild('browser')
    child.kill('SIGKILL')
    await isGone(pid)
  })
})

it.skipIf(process.getuid?.() !== 0)(
  'a PostgreSQL in a folder that other users cannot enter is copied for its user',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-servers-')) // mode 0700
    const version = `test-${randomUUID()}`
    mkdirSync(join(folder, 'native/bin'), { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }))
    writeFileSync(join(folder, 'native/bin/postgres'), '#!/bin/sh\necho "I am $(id -un)"\n', { mode: 0o700 })
    const user = await findServerUser()
    const [reachable, again] = await Promise.all(
      [1, 2].map(() => makeReachable(join(folder, 'native'), user)),
    )
    onTestFinished(() => {
      for (const path of [folder, reachable as string]) rmSync(path, { recursive: true })
    })
    expect(again).toBe(reachable)
    const { stdout } = await promisify(execFile)(join(reachable as string, 'bin/postgres'), [], {
      ...user,
      cwd: '/',
    })
    expect(stdout).toBe('I am nobody\n')
  },
)

describe('a server that cannot start', () => {
  const start = (command: string, args: string[]) =>
    startServer({
      name: 'the server',
      command,
      args,
      isReady: (output) => output.includes('ready'),
    })

  it('is reported with its exit code and its output', async () => {
    await expect(
      start(process.execPath, ['-e', 'console.error("no space"); process.exit(7)']),
    ).rejects.toThrow('the server does not start: ended with exit code 7 before it was ready\nno space')
  })

  it('is reported where its program is missing or may not be executed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-servers-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'program')
    await expect(start(file, [])).rejects.toThrow(
      /the server does not start: .*program could not be started: .*ENOENT/,
    )
    writeFileSync(file, '#!/bin/sh\n', { mode: 0o600 })
    await expect(start(file, [])).rejects.toThrow(/EACCES/)
  })

  it('is killed and reported where it is not ready in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const failure = await startServer({
      name: 'the server',
      command: process.execPath,
      args: ['-e', 'console.log("pid", process.pid); setInterval(() => {}, 1000)'],
      timeoutMs: 2000,
      isReady(output) {
        // The timeout ends once it has printed its process id, however long that takes.
        if (output.includes('\n')) setImmediate(() => vi.advanceTimersByTime(2000))
        return false
      },
    }).catch(String)
    vi.useRealTimers()
    expect(failure).toContain('the server does not start: not ready after 2 s')
    const [, pid = ''] = /pid (\d+)/.exec(failure as string) ?? []
    expect(pid).not.toBe('')
    await isGone(Number(pid))
  })

  it('is reported with what PostgreSQL says', async () => {
    await expect(PostgresServer.start({ no_such_setting: '1' })).rejects.toThrow(
      /PostgreSQL does not start: ended with exit code 1[^]*no_such_setting/,
    )
  })

  it.skipIf(typeof redis === 'string')('is reported with what Redis says', async () => {
    await expect(
      RedisServer.start(redis as Exclude<typeof redis, string>, () => ['--no-such-option', '1']),
    ).rejects.toThrow(/Redis does not start: ended with exit code 1[^]*no-such-option/)
  })
})
