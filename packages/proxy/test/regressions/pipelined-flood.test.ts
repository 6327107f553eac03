import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { ask, proxyFor } from '../kit/clients.js'
import { startTarget } from '../kit/target.js'

it('runs a limited number of pipelined requests of one connection at a time, and answers all in order', async () => {
  const held: ServerResponse[] = []
  let isOpen = false
  const target = await startTarget(({ url }, response) => {
    response.setHeader('x-url', url)
    if (isOpen || url === '/other') response.end()
    else held.push(response)
  })
  const warnings: string[] = []
  const onWarning = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const proxy = await proxyFor()
  const urls = Array.from({ length: 2000 }, (_, i) => `/${i}`)
  const client = connect(proxy.port, '127.0.0.1')
  let got = ''
  const done = new Promise<void>((resolve) => {
    client.on('data', (chunk) => {
      got += chunk.toString('latin1')
      if (got.includes('x-url: /1999\r\n')) resolve()
    })
  })
  client.write(urls.map((url) => `GET ${target.url}${url} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
  while (held.length === 0) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 20; i++) await ask(proxy, `${target.url}/other`)
  expect(held.length).toBeLessThanOrEqual(10)
  isOpen = true
  for (const response of held) response.end()
  await done
  expect([...got.matchAll(/^x-url: (.*)\r$/gm)].map(([, url]) => url)).toEqual(urls)
  expect(warnings).toEqual([])
  client.destroy()
})
