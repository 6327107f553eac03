import type { Context } from '../context.js'
import { CommandFailure, EXIT } from '../exit.js'
import { paint, shown, span } from '../output/text.js'
import { type Api, answered, connect } from '../source/api.js'
import { pause, untilInterrupted } from './wait.js'

export interface TailOptions {
  type?: readonly string[]
  operation?: readonly string[]
}

interface Event {
  event_id: string
  event_type: string
  timestamp: string
  operation?: string
  attempt?: number
  max_attempts?: number | string
  delay?: number
  error?: { type: string; message: string }
  context?: Record<string, unknown>
}

const HUE = { failure: 'red', opened: 'red', rejected: 'red', success: 'green', closed: 'green' } as const

/** An event in a line. */
function lineOf(event: Event, colours: boolean): string {
  const { event_type: type, operation, attempt, max_attempts, delay, error, context } = event
  const ending = (type.split('_').at(-1) ?? '') as keyof typeof HUE
  const kind = shown(type)
  const words = [
    shown(event.timestamp).slice(11, 23),
    HUE[ending] === undefined ? kind : paint(colours)(HUE[ending], kind),
    shown(operation ?? context?.id ?? ''),
    attempt === undefined
      ? ''
      : `attempt ${attempt}${max_attempts === undefined ? '' : ` of ${shown(max_attempts)}`}`,
    delay === undefined ? '' : `in ${span(delay)}`,
    error === undefined ? '' : shown(`${error.type}: ${error.message}`),
    context?.stopped === undefined ? '' : `(${shown(context.stopped)})`,
  ]
  return words.filter((word) => word !== '').join('  ')
}

/** Reads server-sent events until the stream ends. */
export async function* eventsIn(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ id: string; data: string }> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const fields = new Map(
        frame.split('\n').map((line) => {
          const [name = '', ...rest] = line.split(': ')
          return [name, rest.join(': ')] as const
        }),
      )
      const data = fields.get('data')
      if (data !== undefined) yield { id: fields.get('id') ?? '', data }
    }
  }
}

/** `tail`: events as they happen. A connection that is lost is made again, and goes on after the last event. */
export async function tail(context: Context, options: TailOptions): Promise<void> {
  const { io, shared } = context
  const api = await connect(context, { live: 'events come from a running process' })
  let last: string | undefined
  let begun = false
  const read = async (signal: AbortSignal): Promise<void> => {
    const answer = await open(api, options, last, signal)
    begun = true
    for await (const { id, data } of eventsIn(answer)) {
      last = id
      io.out(shared.json ? `${data}\n` : `${lineOf(JSON.parse(data) as Event, io.colours)}\n`)
    }
  }
  await untilInterrupted(io, async (signal) => {
    for (;;) {
      try {
        await read(signal)
      } catch (error) {
        // A refusal is final; so is a server that was never there.
        if (signal.aborted) return
        if (!begun || (error instanceof CommandFailure && error.exit !== EXIT.unreachable)) throw error
      }
      if (signal.aborted) return
      io.err('the connection was lost; trying again\n')
      await pause(io, 1000, signal)
      if (signal.aborted) return
    }
  })
}

async function open(
  api: Api,
  { type, operation }: TailOptions,
  last: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const query = { type, operation, last_event_id: last } as Record<string, string | undefined>
  const answer = await api.send('GET', '/events', { query, signal })
  if (!answer.ok || answer.body === null) await answered(answer)
  return answer.body as ReadableStream<Uint8Array>
}
