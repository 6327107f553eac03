// The short test of another runtime: the built packages retry, open a breaker, send requests and store dead letters there.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast } from '@holdfast/runtime'
import { CircuitBreaker, guard, isHoldfastError, sessionOf } from 'holdfast'
import { createFetch } from 'holdfast/http'

const down = () => Promise.reject(new Error('down'))

const retried = guard({ retry: { maxAttempts: 3, baseDelay: '1ms' }, timeout: { total: '10m' } })
const error = await retried.run(down).catch((thrown) => thrown)
assert.equal(sessionOf(error)?.attempts.length, 3)

const breaker = new CircuitBreaker({ id: 'api' })
breaker.trip()
const rejection = await guard({ breaker })
  .run(() => 1)
  .catch((thrown) => thrown)
assert.ok(isHoldfastError(rejection, 'CIRCUIT_OPEN'))

const slow = guard({ retry: false, timeout: { attempt: '20ms' } }).run(() => new Promise(() => {}))
assert.ok(isHoldfastError(await slow.catch((thrown) => thrown), 'ATTEMPT_TIMEOUT'))

let requests = 0
const server = createServer((_, response) => {
  requests += 1
  response.writeHead(requests < 3 ? 503 : 200).end('hello')
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
const response = await createFetch({ retry: { maxAttempts: 4, baseDelay: '1ms' } })(
  `http://127.0.0.1:${port}/`,
)
assert.equal(`${response.status} ${await response.text()} ${requests}`, '200 hello 3')
server.close()

const folder = mkdtempSync(join(tmpdir(), 'holdfast-runtime-'))
for (const store of ['memory', `files:${join(folder, 'files')}`, `sqlite:${join(folder, 'holdfast.db')}`]) {
  const config = { version: '1.2.0', store, policies: { default: { maxAttempts: 1 } } }
  const hf = await Holdfast.open({ config })
  await assert.rejects(hf.run('mail.send', down, { payload: { to: 'a' } }), /down/)
  hf.deadLetters.handle('mail.send', async () => 'sent')
  const { items } = await hf.deadLetters.list()
  assert.equal(items.length, 1)
  assert.equal((await hf.deadLetters.replay(items[0]?.dlqId ?? '')).status, 'completed')
  await hf.close()
}
rmSync(folder, { recursive: true, force: true })
