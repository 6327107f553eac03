// Builds the application, starts it on a free port and requests the page and the route.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'

const next = createRequire(import.meta.url).resolve('next/dist/bin/next')
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
rmSync('.next', { recursive: true, force: true })
execFileSync(process.execPath, [next, 'build'], { env, stdio: ['ignore', 'inherit', 'inherit'] })

const server = spawn(process.execPath, [next, 'start', '-H', '127.0.0.1', '-p', '0'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const url = await new Promise((resolve, reject) => {
    let output = ''
    server.stdout.on('data', (data) => {
      output += data
      const found = output.match(/http:\/\/127\.0\.0\.1:(\d+)/)
      if (found !== null && found[1] !== '0') resolve(found[0])
    })
    server.once('exit', () => reject(new Error(`next start has ended:\n${output}`)))
  })
  const page = await (await fetch(url)).text()
  assert.match(page, /order after 3 calls/)
  assert.match(page, /failed after 3 attempts/)
  assert.match(page, /not loaded/)
  const route = await fetch(`${url}/api/orders`)
  assert.deepEqual(await route.json(), {
    value: 'saved',
    calls: 2,
    store: 'sqlite',
    operations: ['orders'],
    isOwnError: true,
  })
} finally {
  server.kill()
  if (server.exitCode === null) await once(server, 'exit')
}
