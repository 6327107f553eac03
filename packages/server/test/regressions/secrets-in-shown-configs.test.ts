import { parseConfig } from '@holdfast/runtime'
import { redactUrls } from '@holdfast/runtime/config'
import { expect, test } from 'vitest'
import { World } from '../cli/world.js'
import { open } from '../fixture.js'

// Only credentials before the host of a url and three names of keys were redacted. Passwords in parameters and keys in the path of a
// webhook were returned to every viewer, and printed by `config export`.

const CONFIG = `
version: "1.2.0"
store: "postgres://127.0.0.1:1/app?user=ann&password=hunter2-store&sslmode=require&schema=mine"
shared: "redis://127.0.0.1:1/0?password=hunter2-redis"
alerts:
  webhook: "https://hooks.example.com/services/T0/hunter2-path?token=hunter2-query#hunter2-hash"
  secret: hunter2-secret
dead_letters:
  encryption_key: [ "hunter2:${'a'.repeat(64)}", "two:${'b'.repeat(64)}" ]
pools:
  proxies:
    members:
      - { id: a, url: "http://ann:hunter2-user@127.0.0.1:9/?key=hunter2-parameter" }
      - { id: b, url: "http:ann:hunter2-user@127.0.0.1:9/key0123456789abcdefghij" }
    probe: { url: "https://example.com/health?token=hunter2" }
proxy:
  pool: proxies
  users: [ { name: ann, password: hunter2-proxy } ]
`
const SECRET = /hunter2|0123456789|aaaa|bbbb/

const SHOWN = {
  alerts: { webhook: 'https://hooks.example.com/[redacted]', secret: '[redacted]' },
  dead_letters: { encryption_key: '[redacted]' },
  pools: {
    proxies: {
      members: [
        { id: 'a', url: 'http://[redacted]@127.0.0.1:9/?key=[redacted]' },
        { id: 'b', url: 'http:[redacted]@127.0.0.1:9/[redacted]' },
      ],
      probe: { url: 'https://example.com/health?token=[redacted]' },
    },
  },
  proxy: { users: [{ name: 'ann', password: '[redacted]' }] },
}
const SHARED = 'redis://127.0.0.1:1/0?password=[redacted]'
const STORE = 'postgres://127.0.0.1:1/app?user=[redacted]&password=[redacted]&sslmode=require&schema=mine'

test('config export prints no secret, and lists the values that were redacted', async () => {
  const world = new World({ 'holdfast.yaml': CONFIG.replace(/^store: .*$/m, 'store: memory') })
  const yaml = await world.run(['config', 'export'])
  expect(yaml.err).toMatch(/set them before you use this file: .*alerts\.webhook, alerts\.secret, .*shared/)
  const { json, ...printed } = await world.run(['config', 'export', '--json'])
  expect(json).toMatchObject({ ...SHOWN, store: 'memory', shared: SHARED })
  for (const { out, err } of [yaml, printed]) expect(out + err).not.toMatch(SECRET)
})

test('config diff prints no secret', async () => {
  const world = new World({ 'holdfast.yaml': 'version: "1.2.0"\n', 'other.yaml': CONFIG })
  const { out, json } = await world.run(['config', 'diff', 'other.yaml', '--json'])
  expect(out).not.toMatch(SECRET)
  expect(json.items).toContainEqual({ path: 'store', before: null, after: STORE })
})

test('the API shows no secret to a viewer', async () => {
  const { ask } = await open({}, parseConfig(CONFIG.replace(/^(store|shared): .*$/gm, ''), { env: {} }))
  const { body } = await ask('GET', '/api/v1/config')
  expect(body).toMatchObject(SHOWN)
  const others = ['/config/diff?to=0', '/pools/proxies/members', '/pools']
  for (const path of ['/config', ...others])
    expect(JSON.stringify((await ask('GET', `/api/v1${path}`)).body)).not.toMatch(SECRET)
})

test.each([
  ['http://ann:hunter2@a:1,http://ben:hunter2@b:1', 'http://[redacted]@a:1,http://[redacted]@b:1'],
  ['http://127.0.0.1:1/https://ann:hunter2@a/b', 'http://127.0.0.1:1/https://[redacted]@a/b'],
])('no credentials of a url within a url are shown: %s', (text, shown) => {
  expect(redactUrls(text)).toBe(shown)
})
