import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { COMMAND, Running } from './process.js'
import { BAD, CONFIG, World } from './world.js'

const started: Running[] = []

afterEach(async () => {
  for (const running of started.splice(0)) {
    running.child.kill('SIGKILL')
    await running.ended
  }
})

const run = (world: World, ...argv: string[]): Running => {
  const running = new Running(argv, world.dir)
  started.push(running)
  return running
}

const serving = async (world: World, ...argv: string[]): Promise<{ running: Running; url: string }> => {
  const running = run(world, 'serve', '--port', '0', ...argv)
  const [, url = ''] = await running.saying(/api +(http:\/\/\S+)\/api\/v1/)
  await running.saying(/Ctrl-C/)
  return { running, url }
}

describe('the command in a process', () => {
  it('exits with the documented codes', async () => {
    const world = new World({ 'bad.yaml': BAD, 'holdfast.yaml': CONFIG })
    expect(await run(world, 'check').ended).toBe(EXIT_CODES.ok)
    expect(await run(world, 'check', 'bad.yaml').ended).toBe(EXIT_CODES.config)
    expect(await run(world, 'chek').ended).toBe(EXIT_CODES.usage)
  })

  it('reads standard input', async () => {
    const running = run(new World(), 'check', '-')
    running.child.stdin?.end(BAD)
    expect(await running.ended).toBe(EXIT_CODES.config)
    expect(running.out).toContain('stdin:3:26')
  })

  it('has no colours in a pipe, and survives a reader that closes the pipe', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const shell = `"${process.execPath}" "${COMMAND}" policies | head -n 1; echo "\${PIPESTATUS[0]}"`
    const text = execFileSync('bash', ['-c', shell], { cwd: world.dir }).toString()
    // oxlint-disable-next-line no-control-regex -- colours are what this is about
    expect(text).not.toMatch(/\u001b/)
    expect(text).toMatch(/^ID +ATTEMPTS.*\n0\n$/)
  })

  it('asks no questions without a terminal', async () => {
    const world = new World()
    expect(await run(world, 'init').ended).toBe(EXIT_CODES.ok)
    expect(readFileSync(world.path('holdfast.yaml'), 'utf8')).toContain('version: "1.2.0"')
  })
})

describe('serve', () => {
  it('prints its addresses, serves them, and exits with 0 at Ctrl-C', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const { running, url } = await serving(world)
    expect((await fetch(`${url}/health/ready`)).status).toBe(200)
    const metrics = await fetch(`${url}/metrics`)
    expect(metrics.headers.get('content-type')).toContain('text/plain')
    expect(await metrics.text()).toContain('# TYPE holdfast_calls_total counter')
    await fetch(`${url}/api/v1/circuit-breakers/service%3Anotion/trip`, { method: 'POST' })
    running.interrupt()
    expect(await running.ended).toBe(EXIT_CODES.ok)
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
    expect((await hf.breakers.get('service:notion'))?.state).toBe('open')
    await hf.close()
  })

  it('reports a port that is already in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const running = run(new World({ 'holdfast.yaml': CONFIG }), 'serve', '--port', String(port))
    expect(await running.ended).toBe(EXIT_CODES.failure)
    expect(running.err).toContain(`port ${port} of the server is already in use`)
    expect(running.err).toContain('--port')
    other.close()
  })

  it('refuses to be reached from elsewhere a request without a token', async () => {
    const running = run(new World({ 'holdfast.yaml': CONFIG }), 'serve', '--port', '0', '--host', '0.0.0.0')
    expect(await running.ended).toBe(EXIT_CODES.failure)
    expect(running.err).toContain('holdfast token create')
  })

  it('exits with 3 if the config file is not valid', async () => {
    const running = run(new World({ 'holdfast.yaml': BAD }), 'serve')
    expect(await running.ended).toBe(EXIT_CODES.config)
    expect(running.err).toContain(':3:26')
  })

  it('runs the forward proxy over a pool and the file of its members', async () => {
    const target = createServer((_, res) => res.end('through')).listen(0, '127.0.0.1')
    await once(target, 'listening')
    const { port } = target.address() as AddressInfo
    const upstream = createServer((req, res) => {
      void fetch(req.url as string).then(async (answer) => res.end(`${await answer.text()} a member`))
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const member = (upstream.address() as AddressInfo).port
    const world = new World({
      'holdfast.yaml': `version: "1.1.0"
store: memory
pools: { proxies: { members_file: proxies.txt } }
proxy: { port: 0, pool: proxies, allow_private_targets: true }
`,
      'proxies.txt': `http://ann:hunter2@127.0.0.1:${member} id=one\n`,
    })
    const { running } = await serving(world)
    const [, place = ''] = await running.saying(/proxy +http:\/\/127\.0\.0\.1:(\d+)/)
    const text = await new Promise((resolve, reject) => {
      get({ port: place, path: `http://127.0.0.1:${port}/`, agent: false }, (answer) => {
        let read = ''
        answer.on('data', (chunk: Buffer) => {
          read += chunk.toString()
        })
        answer.on('end', () => resolve(read))
      }).on('error', reject)
    })
    expect(text).toBe('through a member')
    running.interrupt()
    expect(await running.ended).toBe(EXIT_CODES.ok)
    expect(running.out + running.err).not.toContain('hunter2')
    target.close()
    upstream.close()
  })
})
