// Local servers with the wire formats of OpenAI and Anthropic, which can be made to fail.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How a server handles requests. */
export type Mood = 'well' | 'rate limited' | 'down' | 'silent'

export interface ModelServer {
  readonly url: string
  mood: Mood
  /** The number of requests that arrived. */
  asked: number
  close(): void
}

type Format = 'openai' | 'anthropic'

const words = (model: string, question: string): string[] => [
  model,
  ' says:',
  ' ',
  question.length + '',
  ' letters',
]

/** Starts a server of one format. */
export async function startModel(format: Format): Promise<ModelServer> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += String(chunk))).on('end', () => reply(text, response))
  })
  const reply = (text: string, response: ServerResponse): void => {
    one.asked++
    const { model, messages, stream } = JSON.parse(text) as {
      model: string
      messages: { content: string }[]
      stream?: boolean
    }
    if (one.mood === 'silent') return
    if (one.mood === 'rate limited') {
      refuse(response, 429, { 'retry-after': '30' })
      return
    }
    if (one.mood === 'down') {
      refuse(response, 503, {})
      return
    }
    const pieces = words(model, messages.at(-1)?.content ?? '')
    if (stream) answerInPieces(response, format, model, pieces)
    else answer(response, format, model, pieces.join(''))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const one: ModelServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mood: 'well',
    asked: 0,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return one
}

function refuse(response: ServerResponse, status: number, headers: Record<string, string>): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ type: 'error', error: { type: 'api_error', message: `status ${status}` } }))
}

function answer(response: ServerResponse, format: Format, model: string, text: string): void {
  response.setHeader('content-type', 'application/json')
  const told =
    format === 'openai'
      ? {
          id: '1',
          object: 'chat.completion',
          model,
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text } }],
        }
      : {
          id: '1',
          type: 'message',
          role: 'assistant',
          model,
          stop_reason: 'end_turn',
          content: [{ type: 'text', text }],
          usage: { input_tokens: 1, output_tokens: 1 },
        }
  response.end(JSON.stringify(told))
}

function answerInPieces(
  response: ServerResponse,
  format: Format,
  model: string,
  pieces: readonly string[],
): void {
  response.setHeader('content-type', 'text/event-stream')
  const send = (event: string, data: object): void =>
    void response.write(`${format === 'openai' ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`)
  if (format === 'openai') {
    for (const content of pieces)
      send('', {
        id: '1',
        object: 'chat.completion.chunk',
        model,
        choices: [{ index: 0, delta: { content }, finish_reason: null }],
      })
    response.end('data: [DONE]\n\n')
    return
  }
  const message = {
    id: '1',
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    usage: { input_tokens: 1, output_tokens: 0 },
  }
  send('message_start', { type: 'message_start', message })
  send('content_block_start', {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'text', text: '' },
  })
  for (const text of pieces)
    send('content_block_delta', {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text },
    })
  send('content_block_stop', { type: 'content_block_stop', index: 0 })
  send('message_stop', { type: 'message_stop' })
  response.end()
}
