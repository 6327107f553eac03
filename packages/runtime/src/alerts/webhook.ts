import { createHmac } from 'node:crypto'
import type { RuntimeContext } from '@holdfast/config'
import { type Guard, guard } from 'holdfast'

/** Where alerts are sent. */
export interface AlertOptions {
  /** Alerts are sent there by POST. */
  webhook?: string | undefined
  /** Signs them: `x-holdfast-signature: sha256=` and the HMAC of the body, in hexadecimal. */
  secret?: string | undefined
}

/** Sends JSON to a URL until it is taken, or not any more. */
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
    const url = new URL(webhook ?? '')
    const headers = new Headers({ 'content-type': 'application/json', 'user-agent': 'holdfast' })
    if (secret !== undefined)
      headers.set('x-holdfast-signature', `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
    // A URL with credentials in it is none that fetch takes.
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
          throw Object.assign(new Error(`it answered ${response.status}`), {
            status: response.status,
            headers: response.headers,
          })
      },
      { signal },
    )
  }
}
