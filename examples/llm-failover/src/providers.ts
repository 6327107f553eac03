// The same question for each maker's own package: the part to copy, with guards.ts.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

/** A model that can be asked. */
export interface Provider {
  /** The whole answer. */
  ask(question: string, signal: AbortSignal): Promise<string>
  /** The answer as it comes. Whoever starts it has its first piece: until then it may fail and be asked elsewhere. */
  stream(question: string, signal: AbortSignal): Promise<AsyncIterable<string>>
}

/** Retries are the guard's: a package that retries by itself multiplies them. */
const OWN_RETRIES = { maxRetries: 0, apiKey: 'none is needed here' }

export function openai(baseURL: string, model: string): Provider {
  const client = new OpenAI({ baseURL, ...OWN_RETRIES })
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
  const client = new Anthropic({ baseURL, ...OWN_RETRIES })
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
