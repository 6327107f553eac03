import { createHmac } from 'node:crypto'
import type { RuntimeContext } from '@holdfast/config'
import { type Guard, guard } from 'holdfast'

/** The options of alerts. */
export interface AlertOptions {
  /** The URL that receives each alert as a POST request. */
  webhook?: string | undefined
  /** The key of the signature header: `x-holdfast-signature: sha256=` and the HMAC of the body, in hexadecimal. */
  secret?: string | undefined
}

/** Sends JSON to a URL, with retries. */
export class Webhook {
  private readonly guard: Guard

  constructor(runtime: RuntimeContext) {
    this.guard = guard({
      name: 'alerts.webhook',
      clock: runtime.clock,
      random: runtime.random,
      retry: { maxAttempts: 4, baseDelay: 1000, maxDelay: 15_000, jitterType: 'full', jitterAmount: 1 },
      timeout: { attempt: '5s', total: '60s' },
    })
  }

  async send({ webhook, secret }: AlertOptions, body: string, signal: AbortSignal): Promise<void> {
    // The error of the URL class contains the URL on some platforms.
    if (!URL.canParse(webhook ?? '')) throw new Error('expected a URL, got text that is not one')
    const url = new URL(webhook ?? '')
    const headers = new Headers({ 'content-type': 'application/json', 'user-agent': 'holdfast' })
    if (secret !== undefined)
      headers.set('x-holdfast-signature', `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
    // fetch rejects a URL with credentials, so they become a header.
    if (url.username !== '' || url.password !== '') {
      const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
      headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`)
      url.username = ''
      url.password = ''
    }
    await this.guard.run(
      async (attempt) => {
        const response = await fetch(url, {
          method: 'POST',
          headers,
          body,
          signal: attempt.signal,
          redirect: 'error',
        })
        await response.body?.cancel()
        if (!response.ok)
          throw Object.assign(new Error(`the webhook responded with status ${response.status}`), {
            status: response.status,
            headers: response.headers,
          })
      },
      { signal },
    )
  }
}
