import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventSchema } from '../../../records/src/session.js'
import { Alerts, type CriticalFailure } from '../../src/alerts/alerts.js'
import { StorageMonitor } from '../../src/alerts/storage-monitor.js'
import type { AlertOptions } from '../../src/alerts/webhook.js'
import { type TestKit, testKit } from '../error-log/setup.js'

interface Post {
  headers: IncomingMessage['headers']
  url: string | undefined
  body: string
}

let server: Server
let posts: Post[]
let answers: number[]
let kit: TestKit
let options: AlertOptions
let alerts: Alerts

beforeEach(async () => {
  posts = []
  answers = []
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => {
      posts.push({ headers: request.headers, url: request.url, body })
      response.writeHead(answers.shift() ?? 200, { connection: 'close' }).end('thanks')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  kit = testKit()
  options = { webhook: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
  alerts = new Alerts(kit, () => options)
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const critical = (more: Partial<CriticalFailure> = {}): CriticalFailure => ({
  operation: 'gmail_fetch',
  kind: 'auth',
  error: { type: 'HttpError', message: 'the token has expired' },
  ...more,
})

describe('an alert', () => {
  it('is emitted as an event and sent as a signed POST', async () => {
    options = { ...options, secret: 'whisper' }
    const event = alerts.raise(
      critical({ sessionId: 's1', correlationId: 'c1', itemId: 'm1', httpStatus: 401 }),
    )
    await alerts.close()
    expect(kit.events).toEqual([event])
    expect(event).toMatchObject({ eventType: 'alert', operation: 'gmail_fetch', sessionId: 's1' })
    const [post] = posts as [Post]
    const { suppressed, ...wire } = JSON.parse(post.body) as Record<string, unknown>
    expect(suppressed).toBe(0)
    expect(eventSchema.safeParse(wire).success).toBe(true)
    expect(wire).toMatchObject({
      event_type: 'alert',
      correlation_id: 'c1',
      context: { category: 'critical', kind: 'auth', item_id: 'm1', http_status: 401 },
    })
    expect(post.headers['x-holdfast-signature']).toBe(
      `sha256=${createHmac('sha256', 'whisper').update(post.body).digest('hex')}`,
    )
    expect(post.headers['content-type']).toBe('application/json')
  })

  it('has no signature without a secret, and is not sent without a webhook', async () => {
    alerts.raise(critical())
    options = {}
    alerts.raise(critical({ kind: 'other' }))
    await alerts.close()
    expect(kit.events).toHaveLength(2)
    expect(posts).toHaveLength(1)
    expect(posts[0]?.headers).not.toHaveProperty('x-holdfast-signature')
  })

  it('is retried when the webhook fails', async () => {
    answers = [503, 500]
    alerts.raise(critical())
    // In small steps, each a turn of the event loop: the answer must be there before the deadline of an attempt.
    for (let i = 0; i < 5000 && posts.length < 3; i++) await kit.clock.advance(10)
    await alerts.close()
    expect(posts).toHaveLength(3)
    expect(kit.complaints).toEqual([])
  })

  it('causes a warning without the URL when the webhook rejects it', async () => {
    answers = [404]
    options = { webhook: `${options.webhook}?token=t1` }
    alerts.raise(critical())
    await alerts.close()
    expect(posts).toHaveLength(1)
    expect(kit.complaints).toEqual([
      'holdfast: an alert could not be sent to alerts.webhook: the webhook responded with status 404',
    ])
  })

  it('causes a warning when the URL is not valid', async () => {
    options = { webhook: 'nowhere with secret-in-it' }
    alerts.raise(critical())
    await alerts.close()
    expect(kit.complaints).toHaveLength(1)
    expect(kit.complaints[0]).not.toContain('secret-in-it')
  })

  it('sends the credentials of the URL in a header', async () => {
    options = { webhook: options.webhook?.replace('//', '//ann:pw@') }
    alerts.raise(critical())
    await alerts.close()
    expect(posts[0]?.headers.authorization).toBe(`Basic ${Buffer.from('ann:pw').toString('base64')}`)
  })

  it('contains no secret', async () => {
    alerts.raise(critical({ error: { type: 'E', message: 'GET http://u:pw1@h/?api_key=k1' } }))
    await alerts.close()
    expect(posts[0]?.body).not.toMatch(/pw1|k1/)
  })

  it('does not keep the process alive when the webhook does not respond', async () => {
    server.removeAllListeners('request')
    const hung = new Promise<void>((resolve) => server.on('request', () => resolve()))
    alerts.raise(critical())
    await hung
    const closed = alerts.close()
    await kit.clock.advance(3000)
    await closed
    expect(kit.complaints).toHaveLength(1)
  })
})

describe('the rate limit of the webhook', () => {
  it('allows one alert per minute, operation and kind, and reports the number of suppressed ones', async () => {
    for (let i = 0; i < 5; i++) alerts.raise(critical())
    alerts.raise(critical({ kind: 'quota' }))
    await alerts.flush()
    await kit.clock.advance(60_000)
    alerts.raise(critical())
    await alerts.close()
    expect(kit.events).toHaveLength(7)
    const sent = posts.map(
      ({ body }) => JSON.parse(body) as { suppressed: number; context: { kind: string } },
    )
    expect(sent.map(({ suppressed, context }) => `${context.kind} ${suppressed}`).toSorted()).toEqual([
      'auth 0',
      'auth 4',
      'quota 0',
    ])
  })

  it('allows 20 alerts per minute in total', async () => {
    for (let i = 0; i < 1000; i++) alerts.raise(critical({ kind: `kind ${i}` }))
    await alerts.close()
    expect(posts).toHaveLength(20)
  })
})

describe('a disk that is nearly full', () => {
  it('causes one warning until it has enough space again', async () => {
    let free: number | undefined = 1000
    kit.store.freeSpace = async () => free
    const watch = new StorageMonitor(kit, 100)
    await watch.check()
    expect(kit.events).toHaveLength(0)
    free = 99
    await watch.check()
    await watch.check()
    free = 105
    await watch.check()
    free = 90
    await watch.check()
    expect(kit.events).toEqual([
      expect.objectContaining({
        eventType: 'storage_warning',
        context: { reason: 'disk_nearly_full', free_bytes: 99, warn_below_bytes: 100 },
      }),
    ])
    free = 200
    await watch.check()
    free = 10
    await watch.check()
    expect(kit.events).toHaveLength(2)
    expect(kit.complaints).toHaveLength(2)
  })

  it('causes no warning when its free space is unknown', async () => {
    const watch = new StorageMonitor(kit)
    await watch.check()
    kit.store.freeSpace = () => Promise.reject(new Error('no'))
    await watch.check()
    expect(kit.events).toEqual([])
  })
})
