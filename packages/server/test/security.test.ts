import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Holdfast } from '@holdfast/runtime'
import { describe, expect, it } from 'vitest'
import { CONFIG, World } from './cli/world.js'
import { failCall, open } from './fixture.js'

/** A text that clears a terminal, sets its title and adds a line, as an upstream server can put into an error. */
const HOSTILE = 'down\u001b[2J\u001b]0;evil\u0007\r\nadmin signed in\u009b31m'

const source = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')

describe('secrets of clients', () => {
  it.each(['server/src/auth/tokens.ts', 'server/src/auth/sign-ins.ts', 'proxy/src/server/users.ts'])(
    'are compared in constant time in %s',
    (path) => {
      const text = source(path)
      expect(text).toMatch(/timingSafeEqual\(/)
      // No other comparison of a secret, a password or a CSRF token.
      expect(text).not.toMatch(/(secret|password|csrf)\w*\s*[!=]==\s*(?!undefined|'')/i)
    },
  )
})

describe('texts of upstream servers', () => {
  it('cannot control the terminal of the command', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
    await hf
      .run('save', () => Promise.reject(new Error(HOSTILE)), { payload: 1, itemId: HOSTILE })
      .catch(() => {})
    await hf.close()
    for (const command of [['errors'], ['sessions'], ['dead-letters', 'list']]) {
      const { out } = await world.run(command, { columns: 400 })
      expect(out).toContain('down')
      // oxlint-disable-next-line no-control-regex -- control characters are what this is about
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
      expect(out).not.toMatch(/^admin signed in/m)
    }
  })
})

describe('names and values from requests', () => {
  it('cannot add a header to an answer', async () => {
    const { app } = await open()
    for (const id of ['a%0d%0aSet-Cookie:%20evil=1', '%0d%0a%0d%0a<script>']) {
      const answer = await app.request(`http://localhost/api/v1/policies/${id}`)
      expect(answer.headers.get('set-cookie')).toBeNull()
      for (const [, value] of answer.headers) expect(value).not.toMatch(/[\r\n]/)
    }
  })

  it('cannot change the prototype of objects', async () => {
    const { hf, ask } = await open()
    await failCall(hf, 'quick', {
      payload: JSON.parse('{"__proto__":{"polluted":1}}') as object,
      itemId: 'i',
    })
    const body = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"max_attempts":2}'
    for (const [method, path] of [
      ['PUT', '/api/v1/policies/quick'],
      ['PUT', '/api/v1/retry/policy'],
      ['POST', '/api/v1/dead-letters/replay'],
      ['POST', '/api/v1/config/validate'],
    ] as const)
      await ask(method, path, { body, headers: { 'content-type': 'application/json' } })
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('the options of the server', () => {
  it('show no secret in the list of processes, because tokens come from the environment', async () => {
    const world = new World({ 'holdfast.yaml': CONFIG })
    const { out } = await world.run(['--help'])
    expect(out).toMatch(/HOLDFAST_TOKEN/)
    // The one option that takes a secret says what is safer.
    expect(out).toMatch(/--token <token>[\s\S]{0,80}HOLDFAST_TOKEN is safer/)
    expect((await world.run(['token', 'create', '--help'])).out).not.toMatch(/--(secret|password|value)/)
  })
})
