import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, it } from 'vitest'
import { createToken } from '../../src/auth/tokens.js'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { type RunningServer, serve } from '../../src/serve/serve.js'
import { World } from './world.js'

const CONFIG = {
  policies: { quick: { maxAttempts: 2, backoffType: 'immediate' } },
  circuitBreakers: { notion: { failureThreshold: 2, timeoutDuration: 30_000 } },
  proxy: { allowPrivateTargets: true },
}

const opened: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function running(): Promise<{ hf: Holdfast; server: RunningServer; world: World; url: string }> {
  const hf = await Holdfast.open({ config: CONFIG, env: {} })
  const server = await serve(hf, { port: 0, dashboard: false })
  opened.push(
    () => hf.close(),
    () => server.close(),
  )
  return { hf, server, world: new World(), url: server.url }
}

const fail = async (hf: Holdfast, payload?: unknown) =>
  hf
    .run('quick', () => Promise.reject(new Error('down')), { itemId: 'one', ...(payload ? { payload } : {}) })
    .catch(() => {})

describe('a command with --url', () => {
  it('trips a breaker for a duration or until it is reset', async () => {
    const { world, url, hf } = await running()
    const trip = (...more: string[]) =>
      world.run(['breakers', 'trip', 'service:notion', '--url', url, ...more])
    await trip('--for', '10m')
    expect(await hf.breakers.get('service:notion')).toMatchObject({ state: 'open', tripDuration: 600_000 })
    await trip('--for', 'reset')
    expect(await hf.breakers.get('service:notion')).toMatchObject({ tripDuration: 365 * 86_400_000 })
    const refused = await trip('--for', 'soon')
    expect([refused.code, refused.err]).toEqual([EXIT_CODES.usage, expect.stringContaining('such as 90s')])
  })

  it('lists, resets and trips breakers', async () => {
    const { world, url } = await running()
    const trip = await world.run(['breakers', 'trip', 'service:notion', '--url', url, '--reason', 'a drill'])
    expect([trip.code, trip.out]).toEqual([EXIT_CODES.ok, 'service:notion is open\n'])
    const { json } = await world.run(['breakers', '--state', 'open', '--json', '--url', url])
    expect(json.items).toMatchObject([{ id: 'service:notion', state: 'open' }])
    const reset = await world.run(['breakers', 'reset', 'service:notion', '--json'], {
      env: { HOLDFAST_URL: url },
    })
    expect(reset.json.state).toBe('closed')
  })

  it('records the actor and the reason', async () => {
    const { hf, world, url } = await running()
    await world.run(['breakers', 'trip', 'service:notion', '--url', url, '--reason', 'a drill'])
    const { items } = await hf.audit.list()
    expect(items[0]).toMatchObject({ action: 'breaker.trip', actor: 'local', reason: 'a drill' })
  })

  it('reports an unknown breaker', async () => {
    const { world, url } = await running()
    const { code, err } = await world.run(['breakers', 'reset', 'service:none', '--url', url])
    expect(code).toBe(EXIT_CODES.failure)
    expect(err).toContain('breaker service:none not found')
  })

  it.each([
    ['breakers', 'reset', 'service:notion'],
    ['breakers', '--watch'],
    ['tail'],
    ['nodes'],
    ['config', 'reload'],
    ['sessions', '--active'],
  ])('requires --url for %s %s', async (...argv) => {
    const { code, err } = await new World().run(argv)
    expect(code).toBe(EXIT_CODES.usage)
    expect(err).toContain('--url')
  })

  it('exits with 4 if the server cannot be reached', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as AddressInfo
    probe.close()
    await once(probe, 'close')
    const { code, err } = await new World().run(['breakers', '--url', `http://127.0.0.1:${port}`])
    expect(code).toBe(EXIT_CODES.unreachable)
    expect(err).toContain('cannot connect to')
  })

  it.each([
    [200, '<html>'],
    [401, '<html><script>{"error":"UNAUTHORIZED","message":"a"}</script>'],
    [401, '{"error":{"code":"UNAUTHORIZED","message":"a"}}'],
    [401, '{"error":"Unauthorized"}'],
    [403, '{"error":"constructor","message":"a"}'],
    [404, '{"detail":"Not Found"}'],
    [503, '"STORE_UNAVAILABLE"'],
    [503, 'null'],
  ])('exits with 4 if the response is not from Holdfast: %s %s', async (status, body) => {
    const other = createServer((_, res) => res.writeHead(status).end(body)).listen(0, '127.0.0.1')
    await once(other, 'listening')
    opened.push(async () => other.close())
    const { port } = other.address() as AddressInfo
    const { code, err } = await new World().run(['breakers', '--url', `http://127.0.0.1:${port}`, '--json'])
    expect(code).toBe(EXIT_CODES.unreachable)
    expect(JSON.parse(err)).toMatchObject({
      error: 'NOT_HOLDFAST',
      message: expect.stringMatching(`expected a Holdfast server, .* [(]status ${status}[)]`),
    })
  })

  it('exits with 5 without a token and with too low a role', async () => {
    const { hf, world, url } = await running()
    const { token } = await createToken(hf, { name: 'ann', role: 'viewer' })
    const without = await world.run(['breakers', '--url', url])
    expect(without.code).toBe(EXIT_CODES.denied)
    expect(without.err).toContain('HOLDFAST_TOKEN')
    const viewer = await world.run(['breakers', '--url', url, '--token', token])
    expect(viewer.code).toBe(EXIT_CODES.ok)
    const reset = await world.run(['breakers', 'reset', 'service:notion', '--url', url], {
      env: { HOLDFAST_TOKEN: token },
    })
    expect(reset.code).toBe(EXIT_CODES.denied)
    expect(reset.err).toContain('the role operator')
    expect(reset.err + viewer.out).not.toContain(token)
  })

  it('creates, lists and revokes tokens with the token of an admin', async () => {
    const { hf, world, url } = await running()
    const { token } = await createToken(hf, { name: 'ann', role: 'admin' })
    const run = (...argv: string[]) => world.run([...argv, '--url', url], { env: { HOLDFAST_TOKEN: token } })
    const made = await run('token', 'create', 'grafana', '--reason', 'graphs → wall')
    expect(made.out).toMatch(/^hft_[\w-]{43}\n$/)
    const list = await run('token', 'list', '--json')
    expect(list.json.items).toMatchObject([
      { name: 'ann', role: 'admin' },
      { name: 'grafana', role: 'viewer' },
    ])
    expect(list.out).not.toContain(made.out.trim())
    expect((await run('token', 'revoke', 'grafana')).out).toBe('token grafana revoked\n')
    const missing = await run('token', 'revoke', 'grafana')
    expect([missing.code, missing.err]).toEqual([EXIT_CODES.failure, expect.stringContaining('not found')])
    const { items } = await hf.audit.list({ target: 'grafana' })
    expect(items).toMatchObject([
      { action: 'token.revoke', actor: 'ann' },
      { action: 'token.create', actor: 'ann', reason: 'graphs → wall' },
    ])
    const viewer = await world.run(['token', 'list', '--url', url, '--token', 'hft_wrong'])
    expect(viewer.code).toBe(EXIT_CODES.denied)
  })

  it('lists sessions and shows one with its attempts', async () => {
    const { hf, world, url } = await running()
    await fail(hf)
    const { json } = await world.run(['sessions', '--failed', '--json', '--url', url])
    expect(json.items).toMatchObject([{ operation: 'quick', success: false, total_attempts: 2 }])
    const { out } = await world.run(['sessions', 'show', json.items[0].session_id, '--url', url])
    expect(out).toContain('quick  attempts_spent')
    expect(out).toMatch(/2 +0 s .* failure .*Error: down/)
  })

  it('follows events until Ctrl-C', async () => {
    const { hf, world, url } = await running()
    const lines: string[] = []
    const tailed = world.run(['tail', '--url', url, '--json', '--type', 'retry_failure'], {
      onPrinted(text, interrupt) {
        lines.push(text)
        interrupt()
      },
    })
    // Events of before the reader came are not for it, so there are some until it has one.
    while (lines.length === 0) {
      await fail(hf)
      await new Promise(setImmediate)
    }
    expect((await tailed).code).toBe(EXIT_CODES.ok)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ event_type: 'retry_failure', operation: 'quick' })
  })

  it('continues after the last event when the connection was lost', async () => {
    const { hf, server, world, url } = await running()
    const seen: string[] = []
    let lost = 0
    const argv = ['tail', '--url', url, '--json', '--operation', 'counted']
    const tailed = world.run(argv, {
      onPrinted(text, interrupt) {
        if (text.startsWith('{')) seen.push((JSON.parse(text) as { correlation_id: string }).correlation_id)
        else lost++
        if (seen.at(-1) === 'last') interrupt()
      },
    })
    const event = (correlationId: string) =>
      hf
        .run('quick', () => Promise.reject(new Error('down')), {
          correlationId,
          name: 'counted',
          policy: { maxAttempts: 1 },
        })
        .catch(() => {})
    while (seen.length === 0) {
      await event('before')
      await new Promise(setImmediate)
    }
    await server.close()
    while (lost === 0) await new Promise(setImmediate)
    await event('missed')
    const again = await serve(hf, { port: server.port, dashboard: false })
    opened.push(() => again.close())
    while (!seen.includes('missed')) await new Promise(setImmediate)
    await event('last')
    expect((await tailed).code).toBe(EXIT_CODES.ok)
    expect(seen.filter((id) => id !== 'before')).toEqual(['missed', 'last'])
  })

  it('shows breakers as they change until Ctrl-C', async () => {
    const { hf, world, url } = await running()
    let seen = ''
    const watched = world.run(['breakers', '--watch', '--url', url], {
      onPrinted(text, interrupt) {
        seen += text
        if (text.includes('closed')) void hf.breakers.trip('service:notion')
        if (text.includes('open ')) interrupt()
      },
    })
    expect((await watched).code).toBe(EXIT_CODES.ok)
    expect(seen).toMatch(/closed[^]*open/)
  })

  it('sends a request and shows its attempts', async () => {
    let asked = 0
    const target = createServer((_, res) => {
      res.statusCode = ++asked === 1 ? 503 : 200
      res.end('hello')
    }).listen(0, '127.0.0.1')
    await once(target, 'listening')
    opened.push(async () => target.close())
    const { world, url } = await running()
    const { port } = target.address() as AddressInfo
    const argv = ['request', `http://127.0.0.1:${port}/`, '--policy', 'quick', '--url', url]
    const { code, out, err } = await world.run(argv)
    expect([code, out]).toEqual([EXIT_CODES.ok, 'hello'])
    expect(err).toMatch(/1 +0 s .* failure +503/)
    expect(err).toMatch(/2 .* success +200/)
  })

  it('lists errors grouped by kind, message and operation', async () => {
    const { hf, world, url } = await running()
    for (const order of [1, 2])
      await hf
        .run('orders', () => Promise.reject(new Error(`order ${order} is locked`)), {
          policy: { maxAttempts: 1 },
        })
        .catch(() => {})
    const { out, code } = await world.run(['errors', '--url', url])
    expect(code).toBe(EXIT_CODES.ok)
    expect(out).toMatch(/2 .* orders +Error: order <n> is locked/)
    const { json } = await world.run(['errors', '--kind', 'rate_limited', '--json', '--url', url])
    expect(json.items).toEqual([])
  })

  it('shows the differences of live changes, and rolls them back and forth', async () => {
    const { hf, world, url } = await running()
    await hf.policies.put({ id: 'quick', maxAttempts: 7 }, { by: 'ann', reason: 'patience' })
    await hf.policies.put({ id: 'quick', maxAttempts: 9 }, { by: 'ann' })
    const { json } = await world.run(['config', 'history', '--json', '--url', url])
    expect(json.items.map(({ version, by }: { version: number; by: string }) => [version, by])).toEqual([
      [2, 'ann'],
      [1, 'ann'],
    ])
    const { json: changes } = await world.run(['config', 'history', '2', '--json', '--url', url])
    expect(changes.items).toEqual([{ path: 'policies.quick.max_attempts', before: 7, after: 9 }])
    const { out } = await world.run(['config', 'history', '1', '--url', url])
    expect(out).toMatch(/policies\.quick\.max_attempts +file value +7/)
    expect((await world.run(['config', 'rollback', '1', '--url', url])).code).toBe(EXIT_CODES.ok)
    expect((await hf.policies.get('quick')).maxAttempts).toBe(7)
    expect((await world.run(['config', 'clear', '--url', url])).code).toBe(EXIT_CODES.ok)
    expect((await hf.policies.get('quick')).maxAttempts).toBe(2)
    expect((await world.run(['config', 'reload', '--url', url])).code).toBe(EXIT_CODES.ok)
  })

  it('reads the active configuration from the server and not from the file', async () => {
    const { hf, world, url } = await running()
    await hf.policies.put({ id: 'quick', maxAttempts: 7 }, { by: 'ann' })
    const { json: policies } = await world.run(['policies', '--json', '--url', url])
    expect(policies.items.find(({ id }: { id: string }) => id === 'quick').max_attempts).toBe(7)
    const { json } = await world.run(['explain', 'quick', '--json', '--url', url])
    expect(json.policies[0].values.max_attempts.value).toBe(7)
    const { out } = await world.run(['config', 'export', '--url', url])
    expect(out).toContain('max_attempts: 7')
  })

  it('records a reason in any language and with several lines', async () => {
    const { world, url, hf } = await running()
    const said = ['breakers', 'trip', 'service:notion', '--url', url, '--reason', 'schön →\nスロー']
    expect(await world.run(said)).toMatchObject({ code: EXIT_CODES.ok })
    expect((await hf.audit.list()).items[0]?.reason).toBe('schön → スロー')
  })

  it('treats an empty variable as not set', async () => {
    const { world } = await running()
    const env = { HOLDFAST_URL: '', HOLDFAST_TOKEN: '' }
    const { code, err } = await world.run(['tail'], { env })
    expect([code, err.includes('--url is required')]).toEqual([EXIT_CODES.usage, true])
  })

  it('shows only the server itself without shared state', async () => {
    const { world, url, hf } = await running()
    const [node] = await hf.nodes()
    const { code, out, err } = await world.run(['nodes', '--url', url])
    expect([code, out.includes(node?.id ?? '?'), err.includes('does not share state')]).toEqual([
      EXIT_CODES.ok,
      true,
      true,
    ])
    const { json } = await world.run(['nodes', '--json', '--url', url])
    expect(json.items).toMatchObject([{ id: node?.id, version: node?.version, self: true }])
  })
})
