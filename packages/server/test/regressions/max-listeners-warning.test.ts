import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/serve/serve.js'

const CALLS = 30

test('30 requests in flight through POST /request raise no warning about listeners', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => warnings.push(warning)
  process.on('warning', onWarning)
  const held: ServerResponse[] = []
  const upstream = createServer((_, response) => {
    // All of them are answered once all of them are in flight.
    if (held.push(response) === CALLS) for (const one of held) one.end('ok')
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const config = { version: '1.1.0', proxy: { allowPrivateTargets: true } }
  const hf = await Holdfast.open({ config, env: {}, watch: false })
  const server = await serve(hf, { port: 0 })
  onTestFinished(async () => {
    process.off('warning', onWarning)
    await server.close()
    await hf.close()
    upstream.close()
  })
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}/` })
  const answers = await Promise.all(
    Array.from({ length: CALLS }, () =>
      fetch(`${server.url}/api/v1/request`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: CALLS }, () => 200))
  // Warnings are emitted in a later turn.
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings.map(({ message }) => message)).toEqual([])
})
