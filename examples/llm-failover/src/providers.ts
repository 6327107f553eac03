// The packages of OpenAI and Anthropic behind one interface. Copy this file together with guards.ts.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

/** A language model. */
export interface Provider {
  /** Returns the complete answer. */
  ask(question: string, signal: AbortSignal): Promise<string>
  /** Resolves when the response has started. A failure before that is retried on another provider; a later one is not. */
  stream(question: string, signal: AbortSignal): Promise<AsyncIterable<string>>
}

/** The guard retries. Retries of the packages would multiply its attempts. */
const CLIENT_OPTIONS = { maxRetries: 0, apiKey: 'not used by the local servers' }

export function openai(baseURL: string, model: string): Provider {
  const client = new OpenAI({ baseURL, ...CLIENT_OPTIONS })
  const messages = (content: string) => [{ role: 'user' as const, content }]
  return {
    async ask(question, signal) {
      const { choices } = await client.chat.completions.create(
        { model, messages: messages(question) },
        { signal },
      )
      return choices[0]?.message.content ?? ''
    },
    async stream(question, signal) {
      const events = await client.chat.completions.create(
        { model, messages: messages(question), stream: true },
        { signal },
      )
      return (async function* () {
        for await (const { choices } of events) yield choices[0]?.delta.content ?? ''
      })()
    },
  }
}

export function anthropic(baseURL: string, model: string): Provider {
  const client = new Anthropic({ baseURL, ...CLIENT_OPTIONS })
  const body = (content: string) => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user' as const, content }],
  })
  return {
    async ask(question, signal) {
      const { content } = await client.messages.create(body(question), { signal })
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    },
    async stream(question, signal) {
      const events = await client.messages.create({ ...body(question), stream: true }, { signal })
      return (async function* () {
        for await (const event of events)
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta')
            yield event.delta.text
      })()
    },
  }
}
